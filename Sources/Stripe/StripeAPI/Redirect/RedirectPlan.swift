#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where a customer is to be sent, read from an object; nil from those that send nobody anywhere.
struct RedirectPlan: Hashable, Sendable {
    let id: String
    let clientSecret: ClientSecret?
    let nativeURL: String?
    let webURL: String?
    /// The addresses that end the redirect; WeChat's own first.
    let returnURLs: [ReturnURL]
    /// WeChat has no page to fall back to.
    let needsApp: Bool

    /// Of a Source with flow `redirect` or type `wechat`, pending or chargeable, and with somewhere to go.
    init?(_ source: Source) {
        guard source.flow == .redirect || source.type == .wechat else { return nil }
        guard source.status == .pending || source.status == .chargeable else { return nil }
        let native: String? =
            switch source.details {
            case .alipay(let alipay)?: alipay.nativeURL
            case .weChat(let weChat)?: weChat.iosNativeURL
            default: nil
            }
        nativeURL = native.flatMap(Self.url)
        webURL = source.redirect.flatMap { Self.url($0.url) }
        guard nativeURL != nil || webURL != nil else { return nil }
        id = source.id
        clientSecret = source.clientSecret
        let sourceURL = source.redirect.flatMap { Self.url($0.returnURL) }.flatMap { ReturnURL($0) }
        needsApp = source.type == .wechat
        let weChatURL = needsApp ? nativeURL.flatMap(Self.weChatReturnURL) : nil
        returnURLs = [weChatURL, sourceURL].compactMap(\.self)
    }

    /// Of a PaymentIntent in `requires_action` whose next action is `redirect_to_url` with two URLs.
    init?(_ intent: PaymentIntent) {
        guard intent.status == .requiresAction else { return nil }
        self.init(intent.id, intent.clientSecret, intent.nextAction)
    }

    /// Of a SetupIntent; as of a PaymentIntent.
    init?(_ intent: SetupIntent) {
        guard intent.status == .requiresAction else { return nil }
        self.init(intent.id, intent.clientSecret, intent.nextAction)
    }

    private init?(_ id: String, _ clientSecret: ClientSecret?, _ action: NextAction?) {
        guard action?.type == .redirectToURL,
            let url = action?.redirectToURL?.url.flatMap(Self.url),
            let returnURL = action?.redirectToURL?.returnURL.flatMap(Self.url)
        else { return nil }
        self.id = id
        self.clientSecret = clientSecret
        nativeURL = nil
        webURL = url
        returnURLs = [ReturnURL(returnURL)].compactMap(\.self)
        needsApp = false
    }

    /// The address to which WeChat sends the customer back: `APPID://pay/`, for a native link
    /// `weixin://app/APPID/pay/?…`.
    ///
    /// *Source*: `STPRedirectContext.init(source:)` of stripe-ios.
    private static func weChatReturnURL(for nativeURL: String) -> ReturnURL? {
        guard let components = URLComponents(string: nativeURL) else { return nil }
        let segments = components.path.split(separator: "/")
        return segments.first.flatMap { ReturnURL("\($0)://pay/") }
    }

    /// The address, if it is a URL that can be opened; nil for any other text.
    ///
    /// A URL has a scheme, and characters of RFC 3986 alone. Foundation also takes `not a url`, whose blanks it
    /// encodes; stripe-ios does not.
    private static func url(_ address: String) -> String? {
        let parts = address.utf8.split(
            separator: UInt8(ascii: ":"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts.count == 2, let first = parts[0].first, isLetter(first),
            parts[0].allSatisfy(isSchemeCharacter), !parts[1].isEmpty,
            parts[1].allSatisfy({ (0x21...0x7E).contains($0) && !excluded.contains($0) })
        else { return nil }
        return address
    }

    private static let excluded = Set(#""<>\^`{|}"#.utf8)

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func isSchemeCharacter(_ byte: UInt8) -> Bool {
        isLetter(byte) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
    }
}

extension RedirectPlan: RedactedValue {}

/// Where a payment page is shown.
public enum RedirectBrowser: Hashable, Sendable {
    /// Inside the app, as the SDK does by default: only a return URL, the customer's closing it or a failed load
    /// ends the redirect.
    ///
    /// It must be the system's own view (`SFSafariViewController`, Custom Tabs), never a web view of the app's:
    /// web views do not open banks' apps, banks refuse them, and iDEAL's rules forbid them, since the app could
    /// read what is typed and the customer cannot check the address. Where there is only a web view, use ``system``.
    ///
    /// The app coming to the front ends nothing here. The SDK's header says that it does; its code listens for
    /// the return URL alone, rightly: the customer who comes back from the bank's app to approve comes back to the
    /// page, which still has to send the return URL, and an end would take that page away.
    /// *Source*: Currence, "iDEAL in mobile app: using in-app web browser for Issuer redirect".
    case inApp
    /// In the system's browser, from which links open banks' apps: the app coming back to the front ends it too.
    case system
}

/// Shows pages and opens apps for a ``RedirectContext``; the app brings its own browser.
///
/// What the browser tells is handed to the context: ``RedirectContext/handle(returnURL:)``,
/// ``RedirectContext/appDidBecomeActive()``, ``RedirectContext/browserDidClose()`` and
/// ``RedirectContext/initialLoadDidFail(lastHost:)``. Addresses carry client secrets: do not log them.
public protocol RedirectOpener: Sendable {
    /// Opens another app by its own link, as `weixin://…`.
    ///
    /// - Parameter nativeURL: The link.
    /// - Returns: Whether an app has opened.
    func openApp(_ nativeURL: String) async -> Bool

    /// Shows a page.
    ///
    /// - Parameters:
    ///   - webURL: The page.
    ///   - browser: Where to show it.
    /// - Returns: Whether it is shown.
    func openPage(_ webURL: String, in browser: RedirectBrowser) async -> Bool

    /// Takes the page away again, if it still is there.
    func dismiss() async
}

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

/// The address a customer comes back to, and how a received one is told to be it.
///
/// *Rules*, those of stripe-ios (`NSURLComponents+Stripe`): scheme and host match in any letter case, the path
/// exactly, and every query item of the registered address must be there with the same value; more items may be,
/// as Stripe adds some. Of a name given twice the last value counts.
public struct ReturnURL: Hashable, Sendable {
    private let scheme: String?
    private let host: String?
    private let path: String
    private let items: [String: String?]

    /// Reads an address; nil when it is none.
    public init?(_ address: String) {
        guard let components = URLComponents(string: address) else { return nil }
        scheme = components.scheme?.lowercased()
        host = components.host?.lowercased()
        path = components.path
        items = (components.queryItems ?? [])
            .reduce(into: [:]) { items, item in items.updateValue(item.value, forKey: item.name) }
    }

    /// Whether a received address is this one come back.
    public func matches(_ received: ReturnURL) -> Bool {
        scheme == received.scheme && host == received.host && path == received.path
            && items.allSatisfy { name, value in
                received.items[name].map { $0 == value } == true
            }
    }

    /// What Stripe added to the query.
    public var result: RedirectResult {
        RedirectResult(items.compactMapValues { $0 })
    }
}

extension ReturnURL: RedactedValue {}
