import HTTPTypes
import NIOCore

/// A payment method of an intent: what it asks of the customer, and what becomes of its payments.
///
/// Three ways lead to one: an object of its own (`POST /v1/payment_methods`), `payment_method_data` with the intent,
/// or a name of Stripe's test data that stands for an object nobody made. A reusable source may stand in its place,
/// as with those who migrate.
/// *Source*: <https://docs.stripe.com/testing>.
struct SandboxMethod: Codable {
    /// What a method asks of the customer.
    enum Asks: Codable {
        case nothing, redirect, bankTransfer, microdeposits, scan
    }

    let id: String
    let account: String?
    let type: String
    var asks: Asks
    var outcome = ChargeOutcome.succeeds
    var card: SandboxCard?
    var name: String?
    var email: String?
    var created = 0

    /// Methods that send the customer to a page.
    private static let redirectTypes: Set<String> = [
        "bancontact", "giropay", "ideal", "sofort", "p24", "eps", "alipay", "klarna",
        "amazon_pay", "revolut_pay", "twint", "paypal", "blik", "fpx", "mobilepay", "link",
        "multibanco", "affirm", "afterpay_clearpay",
    ]

    /// Methods whose success is known only days later; here after the automatic delay.
    private static let asynchronousTypes: Set<String> = [
        "sofort", "sepa_debit", "bacs_debit", "au_becs_debit", "us_bank_account", "acss_debit",
    ]

    private static let otherTypes: Set<String> = [
        "card", "customer_balance", "wechat_pay", "cashapp",
    ]

    /// Whether the sandbox knows the type at all.
    static func isKnown(_ type: String) -> Bool {
        redirectTypes.contains(type) || asynchronousTypes.contains(type)
            || otherTypes.contains(type)
    }

    init(id: String, account: String?, type: String) {
        self.id = id
        self.account = account
        self.type = type
        asks =
            switch type {
            case "customer_balance": .bankTransfer
            case "us_bank_account", "acss_debit": .microdeposits
            case "wechat_pay": .scan
            default: Self.redirectTypes.contains(type) ? .redirect : .nothing
            }
    }

    /// One of Stripe's documented test methods, such as `pm_card_visa`.
    init?(testName name: String) {
        switch name {
        case _ where name.hasPrefix("pm_card_"):
            self.init(id: name, account: nil, type: "card")
            let asks = name.contains("threeDSecure") || name.contains("authenticationRequired")
            if asks { self.asks = .redirect }
            outcome =
                switch name {
                case "pm_card_chargeDeclinedInsufficientFunds",
                    "pm_card_visa_chargeDeclinedInsufficientFunds":
                    .declined(.insufficientFunds)
                case "pm_card_chargeDeclinedExpiredCard":
                    ChargeOutcome(cardNumber: "4000000000000069")
                case "pm_card_chargeDeclinedIncorrectCvc":
                    ChargeOutcome(cardNumber: "4000000000000127")
                case "pm_card_chargeDeclinedProcessingError":
                    ChargeOutcome(cardNumber: "4000000000000119")
                case _ where name.contains("eclined"), "pm_card_chargeCustomerFail":
                    .declined(.cardDeclined)
                default: .succeeds
                }
        case "pm_usBankAccount", "pm_usBankAccount_success":
            self.init(id: name, account: nil, type: "us_bank_account")
        default: return nil
        }
    }

    /// A reusable source in the place of a payment method, as users who migrate have them.
    init?(_ source: SandboxSource) {
        guard ["card", "sepa_debit", "ach_debit"].contains(source.type),
            source.status == "chargeable"
        else { return nil }
        self.init(id: source.id, account: source.account, type: source.type)
        asks = source.card?.security == "required" ? .redirect : .nothing
        outcome = source.outcome
        card = source.card
        name = source.owner.name
        email = source.owner.email
    }

    /// Reads `type`, `billing_details`, `card[number]`, `sepa_debit[iban]` and the like.
    init(id: String, account: String?, _ form: Form, _ prefix: [String]) throws(APIError) {
        func field(_ path: String...) -> String? { form[path: prefix + path] }
        let type = field("type") ?? ""
        guard Self.isKnown(type) else {
            throw APIError.invalid(
                type.isEmpty ? "Missing required param: type." : "Invalid type: \(type)",
                code: type.isEmpty ? "parameter_missing" : "payment_method_unsupported_type",
                param: prefix.isEmpty ? "type" : "payment_method_data[type]"
            )
        }
        self.init(id: id, account: account, type: type)
        name = field("billing_details", "name")
        email = field("billing_details", "email")
        if type == "card" {
            let token = field("card", "token")
            let card = try SandboxCard(path: prefix + ["card"], form)
            self.card = card
            outcome =
                token == "tok_chargeDeclined"
                ? .declined(.cardDeclined) : ChargeOutcome(cardNumber: card.number)
            if card.security == "required" { asks = .redirect }
        } else if let iban = field(type, "iban") {
            outcome = ChargeOutcome(iban: iban)
        }
        if let named = ChargeOutcome(ownerName: name) { outcome = named }
    }

    var isAsynchronous: Bool { Self.asynchronousTypes.contains(type) }

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "payment_method")
                writer.key("billing_details")
                writer.object { writer in
                    writer.nulls("address")
                    writer.field("email", email)
                    writer.field("name", name)
                    writer.nulls("phone")
                }
                writer.field("created", created)
                writer.nulls("customer")
                writer.field("livemode", false)
                writer.field("metadata", [:])
                writer.field("type", type)
                writer.key(type)
                writer.object { card?.renderFace(into: &$0) }
            }
        )
    }
}

extension SandboxState {
    private static let methodParameters: Set<String> = [
        "allow_redisplay", "billing_details", "client_secret", "customer", "expand", "metadata",
        "radar_options", "type",
    ]

    /// `POST /v1/payment_methods` and `GET /v1/payment_methods/{id}`.
    mutating func routeMethods(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1):
            let type = try call.form.required("type")
            try call.form.allow(Self.methodParameters.union([type]))
            var method = try SandboxMethod(
                id: ids.make("pm_"),
                account: call.account,
                call.form,
                []
            )
            method.created = nowSeconds
            methods[method.id] = method
            return APIReply(body: method.json())
        case (.get, 2):
            try Self.requireSecretKey(call)
            let id = call.segment(1)
            guard let method = methods[id], method.account == call.account else {
                throw APIError.noSuch("PaymentMethod", id)
            }
            return APIReply(body: method.json())
        default: throw Self.unrecognized(call)
        }
    }
}
