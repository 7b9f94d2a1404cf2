import Poller
import PollerIdentity
import PollerQueue

/// Somebody who may be told of a source.
struct Receiver: Sendable {
    let id: EndpointID
    /// What the configuration file calls it; nil for one that it does not name.
    let name: String?
    let url: NotifyURL
    /// Whether it is told nothing before somebody enables it.
    var isDisabled = false
}

extension APIBackend {
    /// Receivers of one source that are looked at; who has more asks by endpoint.
    private static let receiversMax = 500

    /// Who may be told of a source: its inline URLs, and the endpoints that ask for it.
    ///
    /// No index is kept for that: nothing but lists would use it, and every commit would pay for it. The
    /// ids of deliveries are derived from receiver and watch, so they can be looked up.
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
