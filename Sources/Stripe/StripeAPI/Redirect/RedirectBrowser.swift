/// Where a payment page is shown.
public enum RedirectBrowser: Hashable, Sendable {
    /// Inside the app, as `SFSafariViewController`: the app stays active, so only a return URL, the customer's
    /// closing it or a failed load ends the redirect.
    case inApp
    /// In the system's browser: the app coming back to the front ends it too.
    case system
}
