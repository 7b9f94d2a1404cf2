/// How a customer proves to own a bank account that got two small deposits.
///
/// *Source*: <https://docs.stripe.com/api/payment_intents/verify_microdeposits>.
public enum MicrodepositProof: Hashable, Sendable {
    /// What the two deposits were, in cents.
    case amounts(Int, Int)
    /// The six characters in the statement text of one deposit, beginning with `SM`.
    case descriptorCode(String)

    /// The form's fields; the secret only with a publishable key.
    func form(_ clientSecret: ClientSecret?) -> [(String, String)] {
        let secret = clientSecret.map { [("client_secret", $0.rawValue)] } ?? []
        return switch self {
        case .amounts(let first, let second):
            [("amounts[]", String(first)), ("amounts[]", String(second))] + secret
        case .descriptorCode(let code): [("descriptor_code", code)] + secret
        }
    }
}
