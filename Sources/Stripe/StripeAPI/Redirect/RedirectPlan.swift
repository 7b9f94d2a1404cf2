#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The redirect of an object: its URLs and return URLs.
struct RedirectPlan: Hashable, Sendable {
    let id: String
    let clientSecret: ClientSecret?
    let nativeURL: String?
    let webURL: String?
    /// The URLs that end the redirect; WeChat's own comes first.
    let returnURLs: [ReturnURL]
    /// Whether only an app can complete the payment, as for WeChat.
    let needsApp: Bool

    /// Creates the plan of a Source with flow `redirect` or type `wechat` that is pending or chargeable and has a
    /// URL.
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

    /// Creates the plan of a PaymentIntent; `nil` unless it has the status `requires_action` and the next action
    /// `redirect_to_url`, and `url` and `return_url` are valid.
    init?(_ intent: PaymentIntent) {
        guard intent.status == .requiresAction else { return nil }
        self.init(intent.id, intent.clientSecret, intent.nextAction)
    }

    /// Creates the plan of a SetupIntent, like that of a PaymentIntent.
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

    /// Returns the URL with which WeChat returns to the app: `APPID://pay/` for a native link
    /// `weixin://app/APPID/pay/?…`.
    ///
    /// *Source*: `STPRedirectContext.init(source:)` of stripe-ios.
    private static func weChatReturnURL(for nativeURL: String) -> ReturnURL? {
        guard let components = URLComponents(string: nativeURL) else { return nil }
        let segments = components.path.split(separator: "/")
        return segments.first.flatMap { ReturnURL("\($0)://pay/") }
    }

    /// Returns the address if it is a valid URL; otherwise `nil`.
    ///
    /// A URL has a scheme and only characters of RFC 3986. Foundation also accepts `not a url` and escapes its
    /// spaces, but stripe-ios does not.
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

/// The browser that shows a payment page.
public enum RedirectBrowser: Hashable, Sendable {
    /// Inside the app, the default of the SDK. Only a return URL, closing the browser or a failed load ends the
    /// redirect.
    ///
    /// Use the system's browser view (`SFSafariViewController`, Custom Tabs), never a web view of the app. Web views
    /// do not open banking apps, banks reject them, and the rules of iDEAL forbid them, because the app could read
    /// the customer's input and the customer cannot verify the address. If only a web view is available, use
    /// ``system``.
    ///
    /// The app becoming active does not end the redirect here. The SDK's header says that it does, but its code
    /// correctly waits for the return URL alone. A customer who returns from the banking app returns to the page,
    /// which still has to send the return URL; ending the redirect would dismiss that page.
    /// *Source*: Currence, "iDEAL in mobile app: using in-app web browser for Issuer redirect".
    case inApp
    /// In the system's browser, where links open banking apps. The app becoming active also ends the redirect.
    case system
}

/// Opens pages and apps for a ``RedirectContext``; implemented by the app with its own browser.
///
/// Forward the browser's events to the context: ``RedirectContext/handle(returnURL:)``,
/// ``RedirectContext/appDidBecomeActive()``, ``RedirectContext/browserDidClose()`` and
/// ``RedirectContext/initialLoadDidFail(lastHost:)``. URLs contain client secrets; do not log them.
public protocol RedirectOpener: Sendable {
    /// Opens another app by its link, for example `weixin://…`.
    ///
    /// - Parameter nativeURL: The link.
    /// - Returns: Whether the app opened.
    func openApp(_ nativeURL: String) async -> Bool

    /// Shows a page.
    ///
    /// - Parameters:
    ///   - webURL: The page.
    ///   - browser: The browser to use.
    /// - Returns: Whether the page is shown.
    func openPage(_ webURL: String, in browser: RedirectBrowser) async -> Bool

    /// Dismisses the page if it is still shown.
    func dismiss() async
}

/// An error of a redirect.
///
/// The absence of an error does not mean that the payment succeeded.
public enum RedirectError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The app is missing or did not open, and there is no page. Offer another payment method.
    case appRedirectFailed
    /// The customer closed the browser before returning. The payment may still have been made, so read the object.
    case cancellation
    /// Stripe's page could not be loaded. Try again.
    case connection
    /// The opener could not show the page.
    case openFailed

    /// A one-line message for operators.
    public var description: String {
        switch self {
        case .appRedirectFailed: "the payment app could not be opened"
        case .cancellation: "the customer closed the browser before returning"
        case .connection: "the payment page could not be loaded"
        case .openFailed: "the payment page could not be shown"
        }
    }
}

/// A return URL and the comparison with a received URL.
///
/// *Rules*, from stripe-ios (`NSURLComponents+Stripe`): scheme and host match in any letter case, and the path
/// matches exactly. The received URL must have every query item of the registered URL with the same value, and may
/// have more, because Stripe adds some. Of duplicate names the last value counts.
public struct ReturnURL: Hashable, Sendable {
    private let scheme: String?
    private let host: String?
    private let path: String
    private let items: [String: String?]

    /// Parses a URL; `nil` when it is invalid.
    public init?(_ address: String) {
        guard let components = URLComponents(string: address) else { return nil }
        scheme = components.scheme?.lowercased()
        host = components.host?.lowercased()
        path = components.path
        items = (components.queryItems ?? [])
            .reduce(into: [:]) { items, item in items.updateValue(item.value, forKey: item.name) }
    }

    /// Returns whether a received URL matches this one.
    public func matches(_ received: ReturnURL) -> Bool {
        scheme == received.scheme && host == received.host && path == received.path
            && items.allSatisfy { name, value in
                received.items[name].map { $0 == value } == true
            }
    }

    /// The values that Stripe added to the query.
    public var result: RedirectResult {
        RedirectResult(items.compactMapValues { $0 })
    }
}

extension ReturnURL: RedactedValue {}
