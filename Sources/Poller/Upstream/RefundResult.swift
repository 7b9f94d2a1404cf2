package import PollerIdentity
package import PollerPayments
import PollerQueue
import PollerWatches

/// The result of requesting a refund.
package enum RefundResult: Hashable, Sendable {
    /// Refunded by this request or an earlier one.
    case made
    /// The refund exists and has not succeeded yet.
    case underway(RefundProgress.Status)
    /// The refund was made, but the bank let it fail; an operator must act, and it is not requested again.
    case failed(String)
    /// Refused permanently; an operator must act.
    case refused(String)
    /// Not known to be made; the request is repeated later, with the same key.
    case postponed(String, retryAfter: Duration?)
}

extension RefundResult {
    /// Whether a refund exists, so that no other is requested.
    var isTried: Bool {
        switch self {
        case .made, .underway, .failed: true
        case .refused, .postponed: false
        }
    }
}

extension OrderID {
    /// Returns the idempotency key for the refund of one attempt to pay the order, which is always the same.
    package func refundKey(of key: WatchKey) -> String {
        let named = ["\(key.account)", "refund", description, key.kind.rawValue, "\(key.source)"]
        return "poller-refund:\(Digest.base64url(of: named, bytes: 18))"
    }
}

extension PollDecider {
    /// Decides on a refund that could not be made yet: the same poll is repeated later.
    func refundPostponed(
        _ context: PollContext,
        _ reason: String,
        _ retryAfter: Duration?,
        _ generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        var state = context.polledState
        state.failures += 1
        let wait = backoff(failures: state.failures, atLeast: bounded(retryAfter), &generator)
        let error = "its order was paid twice, and the duplicate is not refunded yet: \(reason)"
        return failed(context, state, wait, error: error)
    }
}

extension PaymentFacts {
    /// Returns the facts with the refund of a duplicate payment.
    ///
    /// They have the mark that it was tried, even if the refund is not complete or has failed.
    func refundedAsDuplicate(after earlier: ChargeFacts?, _ result: RefundResult) -> PaymentFacts {
        var facts = following(earlier)
        guard var money = facts.evidence else { return facts }
        switch result {
        case .made: money.refunded = money.captured
        case .underway(let status):
            let open = max(.zero, money.captured - money.refunded)
            money.refund = RefundProgress(status, open)
        case .failed, .refused, .postponed: break
        }
        money.isDuplicate = true
        facts.charge = money
        return facts
    }
}
