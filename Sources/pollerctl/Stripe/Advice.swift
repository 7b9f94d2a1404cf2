import PollerClient
import PollerWire
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
        facts.print()
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
        facts.print()
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
        facts.print()
    }
}

/// What has to happen next to an object, for people and for programs.
struct Advice: Encodable {
    /// One word: `charge`, `redirect`, `pay`, `verify`, `scan`, `wait`, `confirm`, `capture`,
    /// `choose_method` or `nothing`.
    let step: String
    /// The sentence for people.
    let text: String
    /// Where to send the customer.
    var url: String?
    /// Where the customer pays to.
    var address: String?
    /// What is still missing, in the smallest unit.
    var amountMissing: Int?
    /// How often the customer may still try.
    var attemptsRemaining: Int?

    enum CodingKeys: String, CodingKey {
        case step, text, url, address
        case amountMissing = "amount_missing"
        case attemptsRemaining = "attempts_remaining"
    }
}

extension Source {
    /// What has to happen next.
    var advice: Advice {
        switch nextStep {
        case .charge:
            return Advice(step: "charge", text: "charge it now: pollerctl source charge \(id)")
        case .redirect(let url):
            return Advice(step: "redirect", text: "send the customer to \(url)", url: url)
        case .pay(let address):
            let missing = max(0, (amount ?? 0) - (receiver?.amountReceived ?? 0))
            let sum = amount == nil ? "" : "\(missing) \(currency ?? "") "
            return Advice(
                step: "pay",
                text: "tell the customer to pay \(sum)to \(address)",
                address: address,
                amountMissing: amount == nil ? nil : missing
            )
        case .verify(let left):
            let attempts = left.map { ", \($0) attempts left" } ?? ""
            let (what, values) =
                type == .achDebit
                ? ("two amounts on their statement, in cents", "AMOUNT AMOUNT") : ("code", "CODE")
            return Advice(
                step: "verify",
                text: "ask the customer for the \(what): pollerctl source verify \(id) "
                    + "\(values)\(attempts)",
                attemptsRemaining: left
            )
        case .scan(let code, let native):
            let shown = code ?? native ?? "the code"
            return Advice(
                step: "scan",
                text: "show the customer this as a QR code: \(shown)",
                url: shown
            )
        case .wait: return Advice(step: "wait", text: "wait: nobody can do anything but look again")
        case .nothing: return Advice(step: "nothing", text: "nothing more happens to it: \(status)")
        }
    }
}

extension PaymentIntent {
    /// What has to happen next.
    var advice: Advice {
        switch status {
        case .requiresPaymentMethod:
            let why = lastPaymentError.map { "the last try failed (\($0)); " } ?? ""
            return Advice(
                step: "choose_method",
                text: "\(why)confirm it with a method: pollerctl intent confirm \(id) --method TYPE"
            )
        case .requiresConfirmation:
            return Advice(step: "confirm", text: "confirm it: pollerctl intent confirm \(id)")
        case .requiresCapture:
            return Advice(step: "capture", text: "capture it: pollerctl intent capture \(id)")
        case .requiresAction:
            guard let url = nextAction?.redirectToURL?.url ?? nextAction?.hostedURL else {
                let kind = nextAction?.type.rawValue ?? "its next action"
                return Advice(step: "act", text: "the customer must act: \(kind)")
            }
            return Advice(step: "redirect", text: "send the customer to \(url)", url: url)
        case .succeeded, .canceled:
            return Advice(step: "nothing", text: "nothing more happens to it: \(status)")
        default: return Advice(step: "wait", text: "wait: the bank has not answered yet")
        }
    }
}
