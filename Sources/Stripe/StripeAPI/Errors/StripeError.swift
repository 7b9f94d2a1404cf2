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

extension StripeError {
    /// Stripe's id of the request, for its support and the Dashboard's log; nil without a response.
    public var requestID: String? {
        switch self {
        case .api(let failure): failure.headers.requestID
        case .malformed(let body): body.requestID
        case .transport, .bodyTooLarge, .invalidRequest: nil
        }
    }

    /// The HTTP status of an error response.
    public var status: Int? {
        guard case .api(let failure) = self else { return nil }
        return failure.status
    }

    /// The stable word of an error response, as `resource_missing` or `lock_timeout`.
    public var code: String? {
        guard case .api(let failure) = self else { return nil }
        return failure.error?.code
    }

    /// Whether nobody knows what became of a POST: repeat it with the same key, or look; never use a new key.
    ///
    /// So it is without an answer, and after a 5xx, which the idempotency layer stores like a success.
    /// *Source*: <https://docs.stripe.com/error-low-level>.
    public var isIndeterminate: Bool {
        switch self {
        case .transport, .bodyTooLarge, .malformed: true
        case .api(let failure): failure.status >= 500
        case .invalidRequest: false
        }
    }
}
