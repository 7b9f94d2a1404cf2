package import PollerQueue

/// The stream tokens that were used in a URL, shared by all gateways of a cluster.
///
/// URLs end up in the logs of proxies, browsers and this system, so a logged token must no longer be valid.
package protocol SpentTokens: Sendable {
    /// Records for the lifetime of a token that it was used in a URL; false when it was used before.
    func spend(_ id: String, for life: Duration) async throws(StoreError) -> Bool

    /// Returns whether a token was used in a URL.
    func isSpent(_ id: String) async throws(StoreError) -> Bool
}
