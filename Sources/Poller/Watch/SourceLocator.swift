/// Tells whose source a URL is.
///
/// A watch may name its source by URL. It is accepted only where an operator has said what is to be
/// read there: nothing outside the configuration is ever asked, whatever a request says.
package protocol SourceLocator: Sendable {
    /// The watch of the resource at a URL.
    ///
    /// - Parameters:
    ///   - url: as a request has it.
    ///   - account: which upstream it must belong to; nil for any.
    /// - Returns: what names the watch.
    /// - Throws: ``InvalidInput`` for a URL of no upstream, or of several.
    func key(of url: String, account: AccountID?) throws(InvalidInput) -> WatchKey
}
