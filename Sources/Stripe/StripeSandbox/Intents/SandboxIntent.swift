import NIOCore

/// A PaymentIntent as the sandbox keeps it.
struct SandboxIntent: ConfirmableObject {
    static let name = "PaymentIntent"
    static let kind = "payment_intent"
    static let unexpectedState = "payment_intent_unexpected_state"

    let id: String
    /// The connected account it belongs to; nil is the platform's own.
    let account: String?
    let clientSecret: String
    let created: Int
    var amount: Int
    var currency: String
    var methodTypes: [String]
    /// Whether Stripe picks the methods, so that any may be used.
    let isAutomatic: Bool
    var isManualCapture = false
    let isManualConfirmation: Bool
    var description: String?
    var customer: String?
    var receiptEmail: String?
    var statementDescriptor: String?
    var setupFutureUsage: String?
    var metadata: [String: String] = [:]
    var status = "requires_payment_method"
    var method: SandboxMethod?
    var nextAction: SandboxNextAction?
    /// When the customer has waited too long, sandbox time; nil is never.
    var actionEndMs: Int64?
    var attemptsRemaining = Microdeposits.attemptsMax
    /// What a bank transfer brought so far.
    var fundedAmount = 0
    var receivedAmount = 0
    var latestCharge: String?
    var canceledAt: Int?
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
        amount: Int,
        currency: String,
        methodTypes: [String],
        isAutomatic: Bool = false,
        isManualConfirmation: Bool = false
    ) {
        self.id = id
        self.account = account
        self.clientSecret = clientSecret
        self.created = created
        self.amount = amount
        self.currency = currency
        self.methodTypes = methodTypes
        self.isAutomatic = isAutomatic
        self.isManualConfirmation = isManualConfirmation
    }

    func render() -> [UInt8] { render(withMetadata: true) }

    /// Publishable keys never see metadata; `expand[]=latest_charge` puts the charge in the place of its id.
    func render(withMetadata: Bool, charge: ByteBuffer? = nil) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "payment_intent")
            writer.field("amount", amount)
            writer.field("amount_capturable", status == "requires_capture" ? amount : 0)
            writer.key("amount_details")
            writer.object { writer in
                writer.key("tip")
                writer.object { _ in }
            }
            writer.field("amount_received", receivedAmount)
            writer.nulls("application", "application_fee_amount")
            writer.key("automatic_payment_methods")
            if isAutomatic {
                writer.object { writer in
                    writer.field("allow_redirects", "always")
                    writer.field("enabled", true)
                }
            } else {
                writer.value(nil as String?)
            }
            writer.field("canceled_at", canceledAt)
            writer.field("cancellation_reason", cancellationReason)
            writer.field("capture_method", isManualCapture ? "manual" : "automatic")
            writer.field("client_secret", clientSecret)
            writer.field("confirmation_method", isManualConfirmation ? "manual" : "automatic")
            writer.field("created", created)
            writer.field("currency", currency)
            writer.field("customer", customer)
            writer.field("description", description)
            writer.field("last_payment_error", lastError) { $0.render(into: &$1) }
            if let charge {
                writer.field("latest_charge", raw: charge.readableBytesView)
            } else {
                writer.field("latest_charge", latestCharge)
            }
            writer.field("livemode", false)
            if withMetadata { writer.field("metadata", metadata) }
            let action = status == "requires_action" ? nextAction : nil
            writer.field("next_action", action) { action, writer in
                action.render(
                    into: &writer,
                    missing: max(0, amount - fundedAmount),
                    currency: currency,
                    reference: String(id.suffix(12))
                )
            }
            writer.nulls("on_behalf_of")
            writer.field("payment_method", method?.id)
            writer.field("payment_method_options", [:])
            writer.field("payment_method_types", methodTypes)
            writer.nulls("processing")
            writer.field("receipt_email", receiptEmail)
            writer.nulls("review")
            writer.field("setup_future_usage", setupFutureUsage)
            writer.nulls("shipping", "source")
            writer.field("statement_descriptor", statementDescriptor)
            writer.nulls("statement_descriptor_suffix")
            writer.field("status", status)
            writer.nulls("transfer_data", "transfer_group")
        }
    }
}
