import JSONText
import NIOCore

/// An error response, rendered as Stripe's `{"error": {…}}`.
struct APIError: Error {
    let status: Int
    let type: String
    let message: String
    var code: String?
    var param: String?
    var declineCode: String?
    var charge: String?
    /// The intent of a declined confirmation: its parameter name and its JSON.
    var intent: (name: String, json: ByteBuffer)?
    /// The JSON of the declined PaymentMethod.
    var paymentMethod: ByteBuffer?
    /// The exceeded limit, for `Stripe-Rate-Limited-Reason`.
    var limitReason: String?
    /// The value of `Stripe-Should-Retry`.
    var shouldRetry: Bool?
    /// Whether execution had started before the error, so that the response is stored for the idempotency key.
    var hasBegun = false

    /// Creates an `invalid_request_error`, the type of most of Stripe's errors, regardless of status.
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

    /// Creates the error for a required parameter that is missing or empty.
    static func missing(_ param: String) -> APIError {
        invalid("Missing required param: \(param).", code: "parameter_missing", param: param)
    }

    /// Creates the error for a valid payment that was declined.
    static func declined(
        _ failure: PaymentFailure,
        charge: String? = nil,
        of intent: (name: String, json: ByteBuffer)? = nil,
        paymentMethod: ByteBuffer? = nil
    ) -> APIError {
        APIError(
            status: 402,
            type: "card_error",
            message: failure.message,
            code: failure.code,
            declineCode: failure.declineCode,
            charge: charge,
            intent: intent,
            paymentMethod: paymentMethod,
            shouldRetry: false,
            hasBegun: true
        )
    }

    /// Creates the error for an unknown ID: 404 in the path, 400 in a parameter.
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
            writer.object("error") { writer in
                if let charge { writer.field("charge", charge) }
                if let code {
                    writer.field("code", code)
                    writer.field("doc_url", "https://stripe.com/docs/error-codes/\(code)")
                }
                if let declineCode { writer.field("decline_code", declineCode) }
                writer.field("message", message)
                if let param { writer.field("param", param) }
                if let intent { writer.field(intent.name, raw: intent.json.readableBytesView) }
                if let paymentMethod {
                    writer.field("payment_method", raw: paymentMethod.readableBytesView)
                }
                writer.field("type", type)
            }
        }
        var reply = APIReply(status: status, body: body)
        reply.limitReason = limitReason
        reply.shouldRetry = shouldRetry
        reply.hasBegun = hasBegun || status >= 500
        return reply
    }
}
