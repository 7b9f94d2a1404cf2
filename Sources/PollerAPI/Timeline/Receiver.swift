import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// A possible recipient of a source's events.
struct Receiver: Sendable {
    let id: EndpointID
    /// The name in the configuration file; `nil` for an endpoint without one.
    let name: String?
    let url: NotifyURL
    /// Whether the endpoint is disabled.
    var isDisabled = false
}

extension APIBackend {
    /// The maximum number of recipients of one source.
    ///
    /// Beyond that, query by endpoint.
    private static let receiversMax = 500

    /// Returns the possible recipients of a source: its inline URLs, and the endpoints that subscribe to it.
    ///
    /// There is no index for this query: only lists would use it, and every commit would have to maintain it. Delivery
    /// IDs are derived from recipient and watch, so they can be looked up.
    func receivers(of key: WatchKey) async throws(StoreError) -> [Receiver] {
        let inline = try await watches.snapshot(of: key)?.notify ?? []
        var receivers = inline.map { url in
            Receiver(
                id: EndpointID(account: key.account, url: url.description),
                name: nil,
                url: url
            )
        }
        var cursor: String?
        repeat {
            let page = try await endpoints.store.list(
                accounts: .some([key.account]),
                limit: Self.receiversMax,
                cursor: cursor
            )
            receivers += page.items.filter { endpoint in
                let sources = endpoint.scope.sources
                return sources.isEmpty || sources.contains(key.source)
            }.map { endpoint in
                var receiver = Receiver(id: endpoint.id, name: endpoint.name, url: endpoint.url)
                if case .disabled = endpoint.state { receiver.isDisabled = true }
                return receiver
            }
            cursor = page.next
        } while cursor != nil && receivers.count < Self.receiversMax
        return Array(receivers.prefix(Self.receiversMax))
    }
}
