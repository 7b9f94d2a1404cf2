import PollerIdentity
package import PollerPayments

extension Watch {
    /// The payment from the stored facts, for events without an answer; `nil` if it was never read.
    package var reportedPayment: Payment? {
        guard let payment else { return nil }
        if let reported = payment.reported { return reported.payment(with: payment.money) }
        // There was only room for the evidence of its money.
        var facts = PaymentFacts(kind: key.kind)
        facts.status = state.status
        facts.recall(state.charge, payment)
        return Payment(facts.following(payment.money))
    }
}

extension Watch {
    /// Whether the watch is configured to act on a hold.
    package var awaitsActOnHold: Bool {
        key.kind == .paymentIntent && acts.ofHold != nil && !isUnchangedSinceReopen
    }
}
