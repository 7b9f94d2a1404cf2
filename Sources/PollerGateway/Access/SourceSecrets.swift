package import Poller

/// Knows the secret that a source's own customer holds.
package protocol SourceSecrets: Sendable {
    /// What is on record for a watch; nil when it is not watched, or its secret was not given:
    /// then nobody can show it.
    func secret(of key: WatchKey) async throws(StoreError) -> ClientSecret?
}

/// The secrets given when the sources were enqueued.
package struct WatchSecrets<Store: WatchStore>: SourceSecrets {
    private let watches: Store

    /// The secrets in a store of watches.
    package init(_ watches: Store) {
        self.watches = watches
    }

    package func secret(of key: WatchKey) async throws(StoreError) -> ClientSecret? {
        try await watches.snapshot(of: key)?.watch.clientSecret
    }
}
