package import PollerQueue

/// The stream tokens that have stood in a URL, as every gateway of a cluster knows them.
///
/// URLs end in logs, of proxies, of browsers and of ours; what stands in one must be good for nothing
/// by the time somebody reads it.
package protocol SpentTokens: Sendable {
    /// Notes that a token has stood in a URL, for as long as it lives; false when it had before.
    func spend(_ id: String, for life: Duration) async throws(StoreError) -> Bool

    /// Whether a token has stood in a URL.
    func isSpent(_ id: String) async throws(StoreError) -> Bool
}
