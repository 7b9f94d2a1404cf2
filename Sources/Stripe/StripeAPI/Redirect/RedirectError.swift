/// What can go wrong on the way; its absence does not mean that anything was paid.
public enum RedirectError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The app to open is not there or did not open, and there is no page to use instead. Offer another method.
    case appRedirectFailed
    /// The customer closed the browser before coming back. The payment may have been made all the same: look.
    case cancellation
    /// Stripe's own page could not be loaded. Try again.
    case connection
    /// The opener could not show the page.
    case openFailed

    /// One line for an operator.
    public var description: String {
        switch self {
        case .appRedirectFailed: "the payment app could not be opened"
        case .cancellation: "the customer closed the browser before coming back"
        case .connection: "the payment page could not be loaded"
        case .openFailed: "the payment page could not be shown"
        }
    }
}
