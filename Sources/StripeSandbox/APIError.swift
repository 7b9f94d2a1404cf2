/// An error answer, rendered as Stripe's `{"error": {…}}`.
struct APIError: Error {
    let status: Int
    let type: String
    let message: String
    var code: String?
    var param: String?
    var declineCode: String?
    var charge: String?
    /// The PaymentIntent a declined confirmation belongs to, rendered.
    var paymentIntent: [UInt8]?

    static func invalid(
        _ message: String,
        status: Int = 400,
        code: String? = nil,
        param: String? = nil
    ) -> APIError {
        APIError(
            status: status,
            type: "invalid_request_error",
            message: message,
            code: code,
            param: param
        )
    }

    static func missing(_ param: String) -> APIError {
        invalid("Missing required param: \(param).", code: "parameter_missing", param: param)
    }

    /// An id that names nothing: 404 when it stands in the path, 400 when in a parameter.
    static func noSuch(
        _ kind: String,
        _ id: String,
        param: String = "id",
        inPath: Bool = true
    )
        -> APIError
    {
        invalid(
            "No such \(kind): '\(id)'",
            status: inPath ? 404 : 400,
            code: "resource_missing",
            param: param
        )
    }

    var reply: APIReply {
        let body = JSONWriter.object { writer in
            writer.key("error")
            writer.object { writer in
                if let charge { writer.field("charge", charge) }
                if let code {
                    writer.field("code", code)
                    writer.field("doc_url", "https://stripe.com/docs/error-codes/\(code)")
                }
                if let declineCode { writer.field("decline_code", declineCode) }
                writer.field("message", message)
                if let param { writer.field("param", param) }
                if let paymentIntent { writer.field("payment_intent", raw: paymentIntent) }
                writer.field("type", type)
            }
        }
        return APIReply(status: status, body: body)
    }
}
