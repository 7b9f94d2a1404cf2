import JSONText
import NIOCore

/// An error answer, rendered as Stripe's `{"error": {…}}`.
struct APIError: Error {
    let status: Int
    let type: String
    let message: String
    var code: String?
    var param: String?
    var declineCode: String?
    var charge: String?
    /// The intent a declined confirmation belongs to, by its parameter, and rendered.
    var intent: (name: String, json: ByteBuffer)?
    /// The PaymentMethod that was declined, rendered.
    var paymentMethod: ByteBuffer?
    /// Which limit was hit, for `Stripe-Rate-Limited-Reason`.
    var limitReason: String?
    /// Advice for the client, for `Stripe-Should-Retry`.
    var shouldRetry: Bool?
    /// Whether something happened before the error, so that an idempotency key keeps it.
    var hasBegun = false

    /// An `invalid_request_error`: what nearly every refusal of Stripe's is, whatever its status.
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

    /// A required parameter is not there, or is empty.
    static func missing(_ param: String) -> APIError {
        invalid("Missing required param: \(param).", code: "parameter_missing", param: param)
    }

    /// A payment that was valid and failed.
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
