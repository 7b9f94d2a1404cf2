/// Why a `Stripe-Signature` header was refused; whatever it is, answer 400 and do not act upon the body.
public enum WebhookSignatureError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The header is missing or empty.
    case missingHeader
    /// No secret is configured.
    case missingSecret
    /// The header has no readable timestamp and signatures.
    case malformedHeader
    /// The header has no `v1` signature.
    case noSignature
    /// No `v1` signature belongs to this body and secret.
    case noMatch
    /// Properly signed, but longer ago than the tolerance.
    case tooOld(timestamp: Int64)

    /// One line for an operator that says what to look at.
    public var description: String {
        switch self {
        case .missingHeader: "no Stripe-Signature header"
        case .missingSecret: "no webhook secret is configured; it starts with whsec_"
        case .malformedHeader: "the Stripe-Signature header has no timestamp and signatures"
        case .noSignature: "the Stripe-Signature header has no v1 signature"
        case .noMatch: "no signature matches: wrong secret, or the body was changed on its way"
        case .tooOld(let timestamp): "the signature's timestamp \(timestamp) is too old"
        }
    }
}
