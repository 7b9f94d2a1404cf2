/// Why the last try of an intent failed.
struct SandboxPaymentError {
    let type: String
    let code: String
    var declineCode: String?
    let message: String
    var charge: String?

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            if let charge { writer.field("charge", charge) }
            writer.field("code", code)
            if let declineCode { writer.field("decline_code", declineCode) }
            writer.field("doc_url", "https://stripe.com/docs/error-codes/\(code)")
            writer.field("message", message)
            writer.field("type", type)
        }
    }
}
