/// Why the last try of an intent failed.
struct SandboxPaymentError {
    let failure: PaymentFailure
    let methodType: String
    var charge: String?

    private var type: String { methodType == "card" ? "card_error" : "invalid_request_error" }

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            if let charge { writer.field("charge", charge) }
            writer.field("code", failure.code)
            if let declineCode = failure.declineCode { writer.field("decline_code", declineCode) }
            writer.field("doc_url", "https://stripe.com/docs/error-codes/\(failure.code)")
            writer.field("message", failure.message)
            writer.field("payment_method_type", methodType)
            writer.field("type", type)
        }
    }
}
