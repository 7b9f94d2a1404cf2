/// The next step for a Source, derived from its status, flow and type.
///
/// The flow alone is misleading: WeChat's flow is `none` although the customer must scan a QR code, and a redirect
/// that is `not_required` needs no action. *Source*: <https://docs.stripe.com/sources/best-practices>.
public enum SourceNextStep: Hashable, Sendable {
    /// Create the charge now, with the order ID as the idempotency key.
    case charge
    /// Redirect the customer to this page, whose URL includes the client secret.
    case redirect(url: String)
    /// Show the customer where to pay.
    case pay(address: String)
    /// Ask the customer for the code or the amounts, then verify.
    case verify(attemptsRemaining: Int?)
    /// Show the QR code, or open the app by the link.
    case scan(code: String?, nativeURL: String?)
    /// Poll again; no action is possible.
    case wait
    /// The Source is consumed, canceled or failed.
    case nothing
}

extension SourceNextStep: CustomStringConvertible, CustomReflectable {
    /// The name of the step, without its address.
    public var description: String {
        switch self {
        case .charge: "charge"
        case .redirect: "redirect"
        case .pay: "pay"
        case .verify: "verify"
        case .scan: "scan"
        case .wait: "wait"
        case .nothing: "nothing"
        }
    }

    /// A mirror with the description instead of the address.
    public var customMirror: Mirror { Mirror(self, children: ["step": description]) }
}

extension Source {
    /// Whether a charge of this card is declined without 3D Secure.
    ///
    /// Authenticate the card first with a Source of type `three_d_secure` created from it.
    ///
    /// *Source*: <https://docs.stripe.com/sources/three-d-secure>.
    public var needsAuthentication: Bool { cardDetails?.threeDSecure == .required }

    /// The next step.
    ///
    /// A card may need 3D Secure before the charge; see ``needsAuthentication``.
    public var nextStep: SourceNextStep {
        if status.isFinal { return .nothing }
        if status == .chargeable { return .charge }
        guard status == .pending else { return .wait }
        if let code = weChatPayDetails {
            return .scan(code: code.qrCodeURL, nativeURL: code.iosNativeURL)
        }
        switch flow {
        case .redirect?:
            guard let redirect, redirect.status == .pending else { return .wait }
            return .redirect(url: redirect.url)
        case .receiver?: return receiver?.address.map { .pay(address: $0) } ?? .wait
        case .codeVerification?:
            guard verification?.status != .failed else { return .wait }
            return .verify(attemptsRemaining: verification?.attemptsRemaining)
        default: return .wait
        }
    }
}
