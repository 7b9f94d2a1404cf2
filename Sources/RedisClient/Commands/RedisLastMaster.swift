import Synchronization

/// The server that was written to last, to notice when it is another one.
final class RedisLastMaster: Sendable {
    private let endpoint = Mutex<RedisEndpoint?>(nil)

    /// The server, once there was one.
    var current: RedisEndpoint? { endpoint.withLock { $0 } }

    /// Notes the server; returns what has changed, if anything has.
    func change(to new: RedisEndpoint) -> RedisMasterChange? {
        let old = endpoint.withLock { endpoint in
            defer { endpoint = new }
            return endpoint
        }
        guard let old, old != new else { return nil }
        return RedisMasterChange(old: old, new: new, isFailover: true)
    }
}
