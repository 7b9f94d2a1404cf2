import Logging
import PollerAPI
import PollerIdentity
import PollerOperations

/// Access to the API and gateway.
extension Node {
    /// Returns the keys of the file and of the store at the start.
    func keyRing() async throws -> KeyRing {
        let file = try settings.apiKeysFile.map { path throws(InvalidInput) in
            try KeyFile(contentsOfFile: path)
        }
        let ring = KeyRing(
            file: file?.callers ?? [:],
            store: cluster.keys,
            clock: clock,
            wallClock: WallClock.now,
            logger: log("keys")
        )
        if roles != [.worker] {
            try await ring.refresh()
            try refusePublicBindWithoutKeys(ring)
        }
        return ring
    }

    private func refusePublicBindWithoutKeys(_ keys: KeyRing) throws {
        var binds: [(String, ListenAddress)] = []
        if roles.contains(.api) { binds.append(("POLLER_API_BIND", settings.apiBind)) }
        if roles.contains(.gateway), let bind = settings.gatewayBind {
            binds.append(("POLLER_GATEWAY_BIND", bind))
        }
        guard keys.isOpen != false else { return }
        for (variable, address) in binds where !address.isLoopback {
            throw ConfigurationError(
                "\(variable)=\(address) is public, but there are no API keys: make one with "
                    + "pollerd key create --role admin, set POLLER_API_KEYS_FILE, or bind a "
                    + "loopback address"
            )
        }
        if !binds.isEmpty {
            logger.notice("no API keys: serving all users of this machine without authentication")
        }
    }
}
