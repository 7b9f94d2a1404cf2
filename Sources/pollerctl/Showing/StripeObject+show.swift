import PollerClient
import StripeAPI

/// An object of Stripe's with what has to happen next, as `--json` prints it.
private struct Advised<Object: Encodable>: Encodable {
    let object: Object
    let next: Advice
}

extension Source {
    /// Prints the source and what has to happen next.
    func show(json: Bool) throws {
        guard !json else { return try Advised(object: self, next: advice).showJSON() }
        var facts = Facts()
        facts.add("source", id, .strong)
        facts.add("type", type.rawValue)
        facts.add("status", status.rawValue, Watch.colour(status.rawValue, isFinal: status.isFinal))
        facts.add("amount", amount.map { "\($0) \(currency ?? "")" })
        facts.add("flow", flow?.rawValue)
        facts.add("usage", usage?.rawValue)
        if let receiver {
            facts.add("pay to", receiver.address)
            facts.add("received", receiver.amountReceived.map(String.init))
            facts.add("charged", receiver.amountCharged.map(String.init))
            facts.add("returned", receiver.amountReturned.map(String.init))
            facts.add("refund data", receiver.refundAttributesStatus?.rawValue)
        }
        facts.add("redirect", redirect?.status.rawValue)
        facts.add("declined", redirect?.failureReason?.rawValue, .bad)
        facts.add("verification", verification?.status.rawValue)
        facts.add("attempts left", verification?.attemptsRemaining.map(String.init))
        facts.add("next", advice.text, .careful)
        facts.table.printFacts()
    }
}

extension PaymentIntent {
    /// Prints the intent and what has to happen next.
    func show(json: Bool) throws {
        guard !json else { return try Advised(object: self, next: advice).showJSON() }
        var facts = Facts()
        let isFinal = status == .succeeded || status == .canceled
        facts.add("intent", id, .strong)
        facts.add("status", status.rawValue, Watch.colour(status.rawValue, isFinal: isFinal))
        facts.add("amount", amount.map { "\($0) \(currency ?? "")" })
        facts.add("methods", paymentMethodTypes?.joined(separator: ", "))
        facts.add("last error", lastPaymentError?.description, .bad)
        facts.add("charge", latestCharge)
        facts.add("next", advice.text, .careful)
        facts.table.printFacts()
    }
}

extension Charge {
    /// Prints the charge.
    func show(json: Bool) throws {
        guard !json else { return try showJSON() }
        var facts = Facts()
        facts.add("charge", id, .strong)
        facts.add("source", source?.id)
        facts.add("status", status.rawValue, Watch.colour(status.rawValue, isFinal: true))
        facts.add("amount", amount.map { "\($0) \(currency ?? "")" })
        facts.add("failure", failureCode, .bad)
        facts.table.printFacts()
    }
}

/// Names and values, of which only those with a value are shown.
private struct Facts {
    var table = Table("", "")

    mutating func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
        guard let value else { return }
        table.rows.append([.init(name, .faint), .init(value, colour)])
    }
}
