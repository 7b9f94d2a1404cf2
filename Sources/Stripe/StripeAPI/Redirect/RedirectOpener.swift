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
