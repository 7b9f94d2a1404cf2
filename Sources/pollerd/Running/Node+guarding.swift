import PollerNet
import RedisClient

/// What customers' URLs may reach.
extension Node {
    /// Judges every address that a webhook or a poll is about to connect.
    var guarding: AddressGuard {
        AddressGuard(
            allowing: settings.allowedRanges,
            translators: settings.translators,
            ownListeners: listeners
        )
    }

    /// Bars every address of the store's names: the connection has shown one of them.
    func guardStore() async {
        for server in settings.redisURL.endpoints {
            guard let host = server.host, let port = server.port else { continue }
            // A name that does not resolve leads nowhere; a sentinel among several may be down.
            let found = try? await resolver.addresses(host: host, port: port)
            for address in found ?? [] { listeners.add(store: address) }
        }
    }
}
