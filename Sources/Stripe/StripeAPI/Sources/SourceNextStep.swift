/// What has to happen next to a Source, told from status, flow and type together.
///
/// The flow alone misleads: WeChat's is `none` although the customer must scan a code, and a redirect that is
/// `not_required` asks for nothing. *Source*: <https://docs.stripe.com/sources/best-practices>.
public enum SourceNextStep: Hashable, Sendable {
    /// Chargeable: create the charge now, with the order's id as idempotency key.
    case charge
    /// Send the customer to this page, which carries the client secret.
    case redirect(url: String)
    /// Tell the customer where to pay.
    case pay(address: String)
    /// Ask the customer for the code or the amounts, then verify.
    case verify(attemptsRemaining: Int?)
    /// Show the customer this text as a QR code, or open the app by the other link.
    case scan(code: String?, nativeURL: String?)
    /// Nobody can do anything but look again.
    case wait
    /// Consumed, canceled or failed: nothing more happens to it.
    case nothing
}

extension SourceNextStep: CustomStringConvertible, CustomReflectable {
    /// The step in one word, without its address.
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

    /// Shows the description instead of the address.
    public var customMirror: Mirror { Mirror(self, children: ["step": description]) }
}

extension Source {
    /// Whether a charge of this card is declined unless 3D Secure comes first, by a Source of type `three_d_secure` made
    /// from it.
    ///
    /// *Source*: <https://docs.stripe.com/sources/three-d-secure>.
    public var needsAuthentication: Bool { cardDetails?.threeDSecure == .required }

    /// What has to happen next; a card that is to be charged may need 3D Secure before, see ``needsAuthentication``.
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
