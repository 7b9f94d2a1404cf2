import JSONText
import NIOCore

/// A PaymentMethod: the customer action it requires and the outcome of its payments.
///
/// It is created in three ways: by `POST /v1/payment_methods`, by `payment_method_data` of an intent, or by a name of
/// Stripe's test data, which creates a new object for each use. A customer's older card or reusable Source can be
/// used as a PaymentMethod under its own ID, to support migration (``init(_:)-(SandboxSource)``).
///
/// ```
/// made ──attach, setup, setup_future_usage──▶ a customer's ──detach──▶ spent
///   └── a payment without one of these ─────────────────────────────▶ spent
/// ```
///
/// *Source*: <https://docs.stripe.com/api/payment_methods>, <https://docs.stripe.com/testing>.
struct SandboxMethod: Codable {
    /// The customer action required by a method.
    enum Asks: Codable {
        case nothing, redirect, bankTransfer, microdeposits, scan
    }

    let id: String
    let account: String?
    let type: String
    var created = 0
    var asks: Asks
    var outcome = ChargeOutcome.succeeds
    var card: SandboxCard?
    /// The values of the hash named after the type, by the names of ``MethodFields``.
    var details: [String: String] = [:]
    var billing = BillingDetails()
    var metadata: [String: String] = [:]
    var allowRedisplay = "unspecified"
    var preferredNetwork: String?
    var radarSession: String?
    /// The customer it is attached to.
    var customer: String?
    /// Whether it was used without a customer or detached, so that it cannot be used again.
    var isSpent = false
    /// Whether its customer has agreed to off-session payments.
    var isSetUp = false

    /// Creates a method of a known type without further data.
    init(id: String, account: String?, type: String, created: Int) {
        self.id = id
        self.account = account
        self.type = type
        self.created = created
        asks = MethodType.all[type]?.asks ?? .nothing
    }

    init(id: String, account: String?, card: SandboxCard, created: Int) {
        self.init(id: id, account: account, type: "card", created: created)
        take(card)
    }

    /// Creates one of Stripe's documented test methods, such as `pm_card_visa`, under its own ID.
    init?(testName name: String, id: String, account: String?, created: Int) {
        if let card = TestCards.card(method: name) {
            self.init(id: id, account: account, card: card, created: created)
        } else if ["pm_usBankAccount", "pm_usBankAccount_success"].contains(name) {
            self.init(id: id, account: account, type: "us_bank_account", created: created)
        } else {
            return nil
        }
    }

    /// Creates a method from a card or reusable Source, for users who migrate.
    init?(_ source: SandboxSource) {
        guard ["card", "sepa_debit", "ach_debit"].contains(source.type),
            source.status == "chargeable"
        else { return nil }
        self.init(
            id: source.id,
            account: source.account,
            type: source.type == "ach_debit" ? "us_bank_account" : source.type,
            created: source.created
        )
        asks = .nothing
        if let card = source.card { take(card) }
        outcome = source.outcome
        billing = BillingDetails(source.owner)
        metadata = source.metadata
        customer = source.customer
        details = source.iban.map { MethodFields.texts(of: "sepa_debit", iban: $0) } ?? [:]
    }

    private mutating func take(_ card: SandboxCard) {
        self.card = card
        outcome = ChargeOutcome(cardNumber: card.number)
        if card.needsActionOnSession { asks = .redirect }
    }

    /// Reads `type`, `billing_details`, `card[number]`, `card[token]`, `sepa_debit[iban]` and so on.
    init(
        id: String,
        account: String?,
        created: Int,
        _ form: Form,
        _ prefix: [String]
    ) throws(APIError) {
        let type = form[path: prefix + ["type"]] ?? ""
        guard let kind = MethodType.all[type] else {
            throw APIError.invalid(
                type.isEmpty ? "Missing required param: type." : "Invalid type: \(type)",
                code: type.isEmpty ? "parameter_missing" : "payment_method_unsupported_type",
                param: Form.parameterName(prefix + ["type"])
            )
        }
        self.init(id: id, account: account, type: type, created: created)
        try form.allow(Set(kind.parameters), below: prefix + [type])
        try form.allow(["preferred"], below: prefix + [type, "networks"])
        try form.allow(["day", "month", "year"], below: prefix + [type, "dob"])
        if type == "card" {
            take(try Self.card(form, prefix + ["card"]))
            preferredNetwork = form[path: prefix + ["card", "networks", "preferred"]]
        } else {
            details = MethodFields.texts(of: type, form, prefix)
            if let iban = form[path: prefix + [type, "iban"]] {
                outcome = ChargeOutcome(iban: iban)
            }
        }
        try update(from: form, at: prefix)
        if let named = ChargeOutcome(ownerName: billing.name) { outcome = named }
    }

    /// Returns the card of a token or of a number.
    private static func card(_ form: Form, _ path: [String]) throws(APIError) -> SandboxCard {
        guard let token = form[path: path + ["token"]] else {
            return try SandboxCard(path: path, form)
        }
        guard let card = TestCards.card(token: token) else {
            throw APIError.noSuch(
                "token",
                token,
                param: Form.parameterName(path + ["token"]),
                inPath: false
            )
        }
        return card
    }

    /// Updates the fields that can change at any time: `billing_details`, `metadata`, `allow_redisplay`.
    mutating func update(from form: Form, at prefix: [String]) throws(APIError) {
        try form.allow(["session"], below: prefix + ["radar_options"])
        try billing.update(from: form, at: prefix + ["billing_details"])
        metadata = try form.updated(metadata: metadata, at: prefix + ["metadata"])
        if let text = form[path: prefix + ["allow_redisplay"]] {
            guard ["always", "limited", "unspecified"].contains(text) else {
                throw APIError.invalid(
                    "Invalid allow_redisplay: must be one of always, limited, or unspecified",
                    param: Form.parameterName(prefix + ["allow_redisplay"])
                )
            }
            allowRedisplay = text
        }
        if let session = form[path: prefix + ["radar_options", "session"]] {
            radarSession = session
        }
    }

    /// Whether the result of a payment is known only days later; here after the automatic delay.
    var isAsynchronous: Bool { MethodType.all[type]?.isAsynchronous == true }

    /// Whether it can be attached to a customer.
    var isReusable: Bool { MethodType.all[type]?.isReusable == true }

    /// Returns the required action, on session or off session.
    func asks(offSession: Bool) -> Asks {
        switch asks {
        case .redirect:
            guard offSession else { return asks }
            let isNeeded = card?.needsActionOffSession(isSetUp: isSetUp) ?? !isSetUp
            return isNeeded ? asks : .nothing
        case .microdeposits: return isSetUp ? .nothing : asks
        case .nothing, .bankTransfer, .scan: return asks
        }
    }
}

extension SandboxMethod {
    /// Renders the object; `customer` is the expanded customer (`expand[]=customer`).
    func json(customer expanded: ByteBuffer? = nil) -> ByteBuffer {
        .object { writer in
            writer.field("id", id)
            writer.field("object", "payment_method")
            writer.field("allow_redisplay", allowRedisplay)
            writer.name("billing_details")
            billing.render(into: &writer)
            writer.field("created", created)
            if let expanded {
                writer.field("customer", raw: expanded.readableBytesView)
            } else {
                writer.field("customer", customer)
            }
            writer.nulls("customer_account")
            writer.field("livemode", false)
            writer.field("metadata", metadata)
            if let radarSession { writer.field("radar_options", ["session": radarSession]) }
            writer.field("type", type)
            writer.name(type)
            if let card {
                card.render(
                    into: &writer,
                    billing: billing,
                    isChecked: customer != nil || isSpent,
                    preferred: preferredNetwork
                )
            } else {
                MethodFields.render(details, of: type, into: &writer)
            }
        }
    }
}
