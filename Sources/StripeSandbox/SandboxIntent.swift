import NIOCore

/// A PaymentIntent as the sandbox keeps it.
struct SandboxIntent {
    let id: String
    let clientSecret: String
    let created: Int
    let amount: Int
    let currency: String
    let methodTypes: [String]
    let isManualCapture: Bool
    let description: String?
    let customer: String?
    var metadata: [String: String]
    var status = "requires_payment_method"
    var method: SandboxMethod?
    var redirect: SandboxRedirect?
    var latestCharge: String?
    var canceledAt: Int?
    var cancellationReason: String?
    var lastError: SandboxPaymentError?
    private var rendered: ByteBuffer?

    init(
        id: String,
        clientSecret: String,
        created: Int,
        amount: Int,
        currency: String,
        methodTypes: [String],
        isManualCapture: Bool = false,
        description: String? = nil,
        customer: String? = nil,
        metadata: [String: String] = [:]
    ) {
        self.id = id
        self.clientSecret = clientSecret
        self.created = created
        self.amount = amount
        self.currency = currency
        self.methodTypes = methodTypes
        self.isManualCapture = isManualCapture
        self.description = description
        self.customer = customer
        self.metadata = metadata
    }

    mutating func json() -> ByteBuffer {
        if let rendered { return rendered }
        let buffer = ByteBuffer(bytes: render(withMetadata: true))
        rendered = buffer
        return buffer
    }

    /// Must follow every change.
    mutating func changed() {
        rendered = nil
    }

    /// Publishable keys never see metadata.
    func render(withMetadata: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "payment_intent")
            writer.field("amount", amount)
            writer.field("amount_capturable", status == "requires_capture" ? amount : 0)
            writer.key("amount_details")
            writer.object { $0.field("tip", [:]) }
            writer.field("amount_received", status == "succeeded" ? amount : 0)
            writer.nulls("application", "application_fee_amount", "automatic_payment_methods")
            writer.field("canceled_at", canceledAt)
            writer.field("cancellation_reason", cancellationReason)
            writer.field("capture_method", isManualCapture ? "manual" : "automatic")
            writer.field("client_secret", clientSecret)
            writer.field("confirmation_method", "automatic")
            writer.field("created", created)
            writer.field("currency", currency)
            writer.field("customer", customer)
            writer.field("description", description)
            writer.key("last_payment_error")
            if let lastError {
                lastError.render(into: &writer)
            } else {
                writer.value(nil as String?)
            }
            writer.field("latest_charge", latestCharge)
            writer.field("livemode", false)
            if withMetadata { writer.field("metadata", metadata) }
            writer.key("next_action")
            if status == "requires_action", let redirect {
                writer.object { writer in
                    writer.key("redirect_to_url")
                    writer.object { writer in
                        writer.field("return_url", redirect.returnURL)
                        writer.field("url", redirect.url)
                    }
                    writer.field("type", "redirect_to_url")
                }
            } else {
                writer.value(nil as String?)
            }
            writer.nulls("on_behalf_of")
            writer.field("payment_method", method?.id)
            writer.field("payment_method_options", [:])
            writer.field("payment_method_types", methodTypes)
            writer.nulls(
                "processing",
                "receipt_email",
                "review",
                "setup_future_usage",
                "shipping",
                "source",
                "statement_descriptor",
                "statement_descriptor_suffix"
            )
            writer.field("status", status)
            writer.nulls("transfer_data", "transfer_group")
        }
    }
}
