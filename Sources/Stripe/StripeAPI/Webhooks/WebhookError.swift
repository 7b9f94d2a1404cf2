/// Why a delivery was refused as a whole.
public enum WebhookError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not from Stripe, changed on its way, or too old: answer 400.
    case signature(WebhookSignatureError)
    /// Signed, and yet not an event: answer 400 and tell an operator.
    case malformed(MalformedBody)

    /// One line for an operator.
    public var description: String {
        switch self {
        case .signature(let error): "\(error)"
        case .malformed(let body): "signed, but not an event: \(body)"
        }
    }
}
