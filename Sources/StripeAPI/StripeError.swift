/// How a call to the API can fail.
public enum StripeError: Error, Sendable, Hashable {
    /// No response. Retry after a pause, except when cancelled; a POST only with the same idempotency key.
    case transport(TransportFailure)

    /// The response body exceeds the configured bound and was dropped. Treat as a malformed answer.
    case bodyTooLarge(limitBytes: Int)

    /// The response is not JSON or a field has the wrong type. Retry; if it stays, the peer is not Stripe or
    /// this library is too old.
    case malformed(MalformedBody)

    /// Stripe answered with an error. Decide by status and code.
    case api(APIFailure)

    /// The request cannot be sent as given: bad base URL, key, id or header value. Do not retry.
    case invalidRequest(String)
}

extension StripeError: CustomStringConvertible {
    /// One line for an operator, without secrets.
    public var description: String {
        switch self {
        case .transport(let failure): "no response, \(failure)"
        case .bodyTooLarge(let limit): "the response body exceeds \(limit) bytes"
        case .malformed(let body): "malformed response: \(body)"
        case .api(let failure): "\(failure)"
        case .invalidRequest(let reason): "the request cannot be sent: \(reason)"
        }
    }
}
