import NIOCore

/// A SetupIntent as the sandbox keeps it.
struct SandboxSetup: ConfirmableObject {
    static let name = "SetupIntent"
    static let kind = "setupintent"
    static let unexpectedState = "setup_intent_unexpected_state"

    let id: String
    /// The connected account it belongs to; nil is the platform's own.
    let account: String?
    let clientSecret: String
    let created: Int
    var methodTypes: [String]
    /// Whether Stripe picks the methods, so that any may be used.
    let isAutomatic: Bool
    let usage: String
    var description: String?
    var customer: String?
    var metadata: [String: String] = [:]
    var status = "requires_payment_method"
    var method: SandboxMethod?
    var nextAction: SandboxNextAction?
    /// When the customer has waited too long, sandbox time; nil is never.
    var actionEndMs: Int64?
    var attemptsRemaining = Microdeposits.attemptsMax
    var cancellationReason: String?
    var lastError: SandboxPaymentError?
    /// How the last customer came back from a page; outlives the action.
    var lastRedirect: SandboxRedirect?
    var rendered: ByteBuffer?

    init(
        id: String,
        account: String?,
        clientSecret: String,
        created: Int,
        methodTypes: [String],
        isAutomatic: Bool,
        usage: String
    ) {
        self.id = id
        self.account = account
        self.clientSecret = clientSecret
        self.created = created
        self.methodTypes = methodTypes
        self.isAutomatic = isAutomatic
        self.usage = usage
    }

    func render() -> [UInt8] { render(withMetadata: true) }

    /// Publishable keys never see metadata.
    func render(withMetadata: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "setup_intent")
            writer.nulls("application")
            writer.key("automatic_payment_methods")
            if isAutomatic {
                writer.object { $0.field("enabled", true) }
            } else {
                writer.value(nil as String?)
            }
            writer.field("cancellation_reason", cancellationReason)
            writer.field("client_secret", clientSecret)
            writer.field("created", created)
            writer.field("customer", customer)
            writer.field("description", description)
            writer.nulls("flow_directions")
            writer.field("last_setup_error", lastError) { $0.render(into: &$1) }
            writer.nulls("latest_attempt")
            writer.field("livemode", false)
            writer.nulls("mandate")
            if withMetadata { writer.field("metadata", metadata) }
            let action = status == "requires_action" ? nextAction : nil
            writer.field("next_action", action) {
                $0.render(into: &$1, missing: 0, currency: "", reference: "")
            }
            writer.nulls("on_behalf_of")
            writer.field("payment_method", method?.id)
            writer.field("payment_method_options", [:])
            writer.field("payment_method_types", methodTypes)
            writer.nulls("single_use_mandate")
            writer.field("status", status)
            writer.field("usage", usage)
        }
    }
}
