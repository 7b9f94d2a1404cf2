import JSONText
import NIOCore

/// The sandbox's Source.
///
/// ```
/// pending ──authorised, paid, verified──▶ chargeable ──charged──▶ consumed
///    │ refused                               │ a debit bounced
///    ├──────────────▶ failed ◀───────────────┤
///    └── too late ──▶ canceled ◀── too late ─┘
/// ```
///
/// Types without a customer action (cards, debits without verification) are chargeable from the start. A reusable
/// Source attached to a customer is never consumed. ``SourceExpiry`` has the time limits by type. Tests may move it
/// to any status.
/// *Source*: <https://docs.stripe.com/sources>.
struct SandboxSource: RenderedObject, Codable {
    let id: String
    /// The connected account that owns the Source; `nil` for the platform.
    let account: String?
    let type: String
    let flow: String
    let usage: String
    var amount: Int?
    let currency: String?
    let clientSecret: String
    /// Seconds since 1970.
    let created: Int
    var statementDescriptor: String?
    /// The rendered hash named after the type.
    var details: [UInt8]
    /// The card, for a card or 3D Secure Source.
    var card: SandboxCard?
    /// Whether this is a `card` object, from before Sources, which a token creates.
    var isCard = false
    /// The IBAN, for a SEPA debit.
    var iban: String?
    var outcome = ChargeOutcome.succeeds
    var customer: String?
    var owner = SandboxOwner()
    var metadata: [String: String] = [:]
    var redirect: SandboxRedirect?
    var receiver: SandboxReceiver?
    var verification: SandboxVerification?
    /// The rendered purchased items (Klarna).
    var order: [UInt8]?
    /// Whether each debit is announced by an event instead of an email.
    var notifiesManually = false
    var status = "pending"
    /// The expiry of the current status, in sandbox time; `nil` for none.
    var endMs: Int64?

    var rendered = RenderedJSON()

    var isReusable: Bool { usage == "reusable" }

    func render() -> [UInt8] { render(withMetadata: true) }

    /// Renders the Source; publishable keys do not receive metadata.
    func render(withMetadata: Bool) -> [UInt8] {
        if isCard { return renderCard() }
        return JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "source")
            writer.nulls("allow_redisplay")
            writer.field("amount", amount)
            writer.field("client_secret", clientSecret)
            if let verification {
                writer.name("code_verification")
                verification.render(into: &writer)
            }
            writer.field("created", created)
            writer.field("currency", currency)
            if let customer { writer.field("customer", customer) }
            writer.field("flow", flow)
            writer.field("livemode", false)
            if withMetadata { writer.field("metadata", metadata) }
            writer.name("owner")
            owner.render(into: &writer)
            if let receiver {
                writer.name("receiver")
                receiver.render(into: &writer)
            }
            if let redirect {
                writer.name("redirect")
                redirect.render(into: &writer)
            }
            if let order { writer.field("source_order", raw: order) }
            writer.field("statement_descriptor", statementDescriptor)
            writer.field("status", status)
            writer.field("type", type)
            writer.field("usage", usage)
            writer.field(type, raw: shownDetails)
        }
    }
}

extension SandboxSource {
    /// The hash of the type; the URL of a mandate page includes the client secret.
    ///
    /// *Source*: the example of <https://docs.stripe.com/sources/sepa-debit>.
    private var shownDetails: [UInt8] {
        guard type == "sepa_debit" else { return details }
        let page = "sepa_debit/file/\(id)/\(clientSecret)"
        return Array(
            String(decoding: details, as: UTF8.self)
                .replacing("sepa_debit/file/test", with: page).utf8
        )
    }
}

extension SandboxSource {
    /// The parameters of a card's address and the matching address fields.
    static let cardAddress: [(parameter: String, field: String)] = [
        ("address_city", "city"), ("address_country", "country"), ("address_line1", "line1"),
        ("address_line2", "line2"), ("address_state", "state"), ("address_zip", "postal_code"),
    ]

    /// Renders the object of a card that a customer has saved or a token was charged with.
    ///
    /// *Source*: <https://docs.stripe.com/api/cards/object>.
    private func renderCard() -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "card")
            for (name, field) in Self.cardAddress { writer.field(name, owner.address[field]) }
            writer.field("address_line1_check", owner.address["line1"].map { _ in "pass" })
            writer.field("address_zip_check", owner.address["postal_code"].map { _ in "pass" })
            writer.field("allow_redisplay", "unspecified")
            card?.renderFace(into: &writer)
            writer.field("customer", customer)
            writer.field("cvc_check", card?.hasCode == true ? "pass" : nil)
            writer.nulls("dynamic_last4")
            writer.field("fingerprint", card?.fingerprint)
            writer.field("metadata", metadata)
            writer.field("name", owner.name)
            writer.field("regulated_status", "unregulated")
            writer.nulls("tokenization_method")
        }
    }
}

struct SandboxRedirect: Codable {
    let url: String
    let returnURL: String
    var status = "pending"
    var failureReason: String?

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("failure_reason", failureReason)
            writer.field("return_url", returnURL)
            writer.field("status", status)
            writer.field("url", url)
        }
    }
}

/// The verification of a code or of the amounts of micro-deposits.
struct SandboxVerification: Codable {
    var attemptsRemaining = Microdeposits.attemptsMax
    var status = "pending"

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("attempts_remaining", attemptsRemaining)
            writer.field("status", status)
        }
    }
}

/// The owner of a Source, and whether the bank verified the name.
struct SandboxOwner: Codable {
    static let addressFields = ["city", "country", "line1", "line2", "postal_code", "state"]

    var name: String?
    var email: String?
    var phone: String?
    var address: [String: String] = [:]
    /// Whether the bank verified the name.
    var isVerified = false

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("address")
            if address.isEmpty {
                writer.null()
            } else {
                writer.object { writer in
                    for name in Self.addressFields { writer.field(name, address[name]) }
                }
            }
            writer.field("email", email)
            writer.field("name", name)
            writer.field("phone", phone)
            writer.nulls("verified_address", "verified_email")
            writer.field("verified_name", isVerified ? name ?? "Jenny Rosen" : nil)
            writer.nulls("verified_phone")
        }
    }
}

extension SandboxOwner {
    /// Updates the fields given under `owner`.
    mutating func update(from form: Form) {
        if let text = form["owner", "name"] { name = text.isEmpty ? nil : text }
        if let text = form["owner", "email"] { email = text.isEmpty ? nil : text }
        if let text = form["owner", "phone"] { phone = text.isEmpty ? nil : text }
        for field in Self.addressFields {
            if let text = form["owner", "address", field] {
                address[field] = text.isEmpty ? nil : text
            }
        }
    }
}
