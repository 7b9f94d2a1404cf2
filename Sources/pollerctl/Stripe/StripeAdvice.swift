import PollerClient
import PollerWire
import StripeAPI

/// A Stripe object that commands print with the next step.
protocol AdvisedObject: StripeObject {
    var clientSecret: StripeAPI.ClientSecret? { get }
    /// The next step.
    var advice: Advice { get }
    /// The replacement of a deprecated Source type.
    var deprecated: SourceDeprecation? { get }
    var facts: Facts { get }
}

extension AdvisedObject {
    /// Prints the object and the next step.
    func show(json: Bool) throws {
        guard !json else {
            return try Advised(object: self, next: advice, deprecated: deprecated).showJSON()
        }
        var facts = facts
        facts.add("deprecated", deprecated?.text, .faint)
        facts.add("next", advice.text, .careful)
        facts.print()
    }
}

/// A Stripe object with the next step, as `--json` prints it.
private struct Advised<Object: Encodable>: Encodable {
    let object: Object
    let next: Advice
    let deprecated: SourceDeprecation?
}

/// The replacement of a Source type, as `--json` prints it.
struct SourceDeprecation: Encodable {
    /// The PaymentMethod type; `none` if the method was discontinued.
    let replacement: String
    let urgency: SourceMigration.Urgency
    let advice: String

    enum CodingKeys: String, CodingKey {
        case urgency, advice
        case replacement = "payment_method"
    }

    init(_ migration: SourceMigration) {
        replacement = migration.paymentMethod
        urgency = migration.urgency
        advice = migration.advice
    }

    var text: String { "\(Deprecation.text(urgency.rawValue, replacement)) \(advice)" }
}

extension Deprecation {
    /// The deprecation as text, with a link to Stripe's guide.
    var text: String {
        let beginning = Self.text(urgency?.rawValue, replacement)
        return [beginning, advice, url].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The urgency and the replacement; empty for an unknown type.
    fileprivate static func text(_ urgency: String?, _ replacement: String) -> String {
        switch urgency {
        case "ended": "This payment method was discontinued."
        case "turned_off": "Use PaymentMethod \(replacement): Stripe will turn this type off."
        case "stays": "PaymentMethod \(replacement) replaces this type, which still works."
        default: ""
        }
    }
}

extension Source: AdvisedObject {
    var deprecated: SourceDeprecation? { type.migration.map(SourceDeprecation.init) }

    var facts: Facts {
        var facts = Facts()
        facts.add("source", id, .strong)
        facts.add("type", type.rawValue)
        facts.add("status", status.rawValue, Watch.colour(status.rawValue, isFinal: status.isFinal))
        facts.add("amount", amount.map { Sums.text($0, currency) })
        facts.add("flow", flow?.rawValue)
        facts.add("usage", usage?.rawValue)
        facts.add("customer", customer)
        if let receiver {
            func sum(_ amount: Int) -> String { Sums.text(amount, currency) }
            facts.add("pay to", receiver.address)
            for (name, value) in transfer { facts.add(name, value) }
            facts.add("received", receiver.amountReceived.map(sum))
            facts.add("charged", receiver.amountCharged.map(sum))
            facts.add("returned", receiver.amountReturned.map(sum))
            facts.add("refund data", receiver.refundAttributesStatus?.rawValue)
        }
        facts.add("redirect", redirect?.status.rawValue)
        facts.add("declined", redirect?.failureReason?.rawValue, .bad)
        facts.add("verification", verification?.status.rawValue)
        facts.add("attempts left", verification?.attemptsRemaining.map(String.init))
        facts.add("mandate", sepaDebitDetails?.mandateReference)
        facts.add("mandate page", sepaDebitDetails?.mandateURL)
        facts.add("3D Secure", cardDetails?.threeDSecure?.rawValue)
        return facts
    }
}

extension PaymentIntent: AdvisedObject {
    var deprecated: SourceDeprecation? { nil }

    var facts: Facts {
        var facts = Facts()
        let isFinal = status == .succeeded || status == .canceled
        facts.add("intent", id, .strong)
        facts.add("status", status.rawValue, Watch.colour(status.rawValue, isFinal: isFinal))
        facts.add("amount", amount.map { Sums.text($0, currency) })
        facts.add("methods", paymentMethodTypes?.joined(separator: ", "))
        facts.add("last error", lastPaymentError?.description, .bad)
        facts.add("charge", latestCharge)
        return facts
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
        facts.add("amount", amount.map { Sums.text($0, currency) })
        facts.add("failure", failureCode, .bad)
        facts.print()
    }
}

/// The next step of an object.
struct Advice: Encodable {
    /// One of `charge`, `authenticate`, `redirect`, `pay`, `verify`, `scan`, `wait`, `confirm`,
    /// `capture`, `choose_method`, `refund_account` or `nothing`.
    let step: String
    /// The step as a sentence.
    let text: String
    /// The URL for the customer.
    var url: String?
    /// The account that the customer pays to.
    var address: String?
    /// The account's parts by Stripe's names: `iban`, `bic`, `entity`, `reference`, ….
    var transfer: [String: String]?
    /// The missing amount in the smallest unit.
    var amountMissing: Int?
    /// The customer's remaining attempts.
    var attemptsRemaining: Int?

    enum CodingKeys: String, CodingKey {
        case step, text, url, address, transfer
        case amountMissing = "amount_missing"
        case attemptsRemaining = "attempts_remaining"
    }
}

extension Source {
    /// The bank details of a receiver source by Stripe's names, the most needed first.
    var transfer: [(String, String)] {
        let parts: [(String, String?)] =
            switch details {
            case .multibanco(let details):
                [("entity", details.entity), ("reference", details.reference)]
            case .achCreditTransfer(let details):
                [
                    ("bank_name", details.bankName), ("account_number", details.accountNumber),
                    ("routing_number", details.routingNumber), ("swift_code", details.swiftCode),
                ]
            case .sepaCreditTransfer(let details):
                [("bank_name", details.bankName), ("iban", details.iban), ("bic", details.bic)]
            default: []
            }
        return parts.compactMap { name, value in value.map { (name, $0) } }
    }

    /// The next step.
    var advice: Advice {
        // A pending refund needs the payer's account, whatever the source's status.
        if receiver?.refundAttributesStatus == .requested, nextStep == .nothing {
            return Advice(
                step: "refund_account",
                text:
                    "a refund is waiting for the payer's account: the payer enters it on the return page; "
                    + "or submit it with POST /v1/watches/\(id)/refund_attributes, which requires a watch (pollerctl "
                    + "enqueue \(id))"
            )
        }
        switch nextStep {
        case .charge where needsAuthentication:
            return Advice(
                step: "authenticate",
                text: "this card requires 3D Secure first: pollerctl source create "
                    + "three_d_secure --card \(id) --amount … --currency … --return-url …"
            )
        case .charge:
            return Advice(step: "charge", text: "charge it now: pollerctl source charge \(id)")
        case .redirect(let url):
            return Advice(step: "redirect", text: "send the customer to \(url)", url: url)
        case .pay(let address):
            let missing = max(0, (amount ?? 0) - (receiver?.amountReceived ?? 0))
            let sum = amount == nil ? "" : "\(Sums.text(missing, currency)) "
            return Advice(
                step: "pay",
                text: "ask the customer to pay \(sum)to \(address)",
                address: address,
                transfer: Dictionary(transfer) { first, _ in first },
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
        case .wait: return Advice(step: "wait", text: "wait: no action is possible now")
        case .nothing: return Advice(step: "nothing", text: "done: \(status)")
        }
    }
}

extension PaymentIntent {
    /// The next step.
    var advice: Advice {
        switch status {
        case .requiresPaymentMethod, .requiresSource:
            let why = lastPaymentError.map { "the last attempt failed (\($0)); " } ?? ""
            return Advice(
                step: "choose_method",
                text: "\(why)confirm it with a method: pollerctl intent confirm \(id) --method TYPE"
            )
        case .requiresConfirmation:
            return Advice(step: "confirm", text: "confirm it: pollerctl intent confirm \(id)")
        case .requiresCapture:
            return Advice(step: "capture", text: "capture it: stripe payment_intents capture \(id)")
        case .requiresAction, .requiresSourceAction:
            guard let url = nextAction?.redirectToURL?.url ?? nextAction?.hostedURL else {
                let kind = nextAction?.type.rawValue ?? "its next action"
                return Advice(step: "act", text: "the customer must complete: \(kind)")
            }
            return Advice(step: "redirect", text: "send the customer to \(url)", url: url)
        case .succeeded, .canceled:
            return Advice(step: "nothing", text: "done: \(status)")
        default: return Advice(step: "wait", text: "wait: the bank has not responded yet")
        }
    }
}
