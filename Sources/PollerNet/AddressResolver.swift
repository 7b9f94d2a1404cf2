package import NIOCore

/// Finds the addresses of a host; asked for every attempt, so that what was judged is what is
/// connected.
///
/// It may remember addresses for seconds: each attempt judges them anew.
package protocol AddressResolver: Sendable {
    /// The addresses in the order they should be tried.
    ///
    /// - Throws: ``ResolutionFailure``.
    func addresses(
        host: String,
        port: Int
    ) async throws(ResolutionFailure) -> [SocketAddress]
}

/// A host has no address now.
package struct ResolutionFailure: Error, Hashable, Sendable {
    /// The resolver's own words.
    package let reason: String

    /// Wraps a reason.
    package init(reason: String) {
        self.reason = reason
    }
}
