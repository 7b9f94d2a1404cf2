package import Poller

/// Knows the secret that a source's own customer holds.
package protocol SourceSecrets: Sendable {
    /// What is on record for a watch.
    func secret(of key: WatchKey) async throws(StoreError) -> SourceSecret
}

/// The secret of a source, as far as it is on record.
package enum SourceSecret: Hashable, Sendable {
    /// Nobody watches this source.
    case notWatched
    /// It is watched, but its secret was not given: nobody can show it.
    case unknown
    case known(ClientSecret)
}

/// The secrets given when the sources were enqueued.
package struct WatchSecrets<Store: WatchStore>: SourceSecrets {
    private let watches: Store

    /// The secrets in a store of watches.
    package init(_ watches: Store) {
        self.watches = watches
    }

    package func secret(of key: WatchKey) async throws(StoreError) -> SourceSecret {
        guard let watch = try await watches.snapshot(of: key)?.watch else { return .notWatched }
        return watch.clientSecret.map(SourceSecret.known) ?? .unknown
    }
}
