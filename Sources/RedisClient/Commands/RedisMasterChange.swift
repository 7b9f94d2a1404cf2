import Synchronization

/// A change of the server that this client writes to.
///
/// Writes that the old server acknowledged and the new one lacks are lost (``isFailover``). A
/// caller that counts epochs must start a new one.
package struct RedisMasterChange: Sendable, Hashable {
    /// The previous server; `nil` for slots that no server had.
    package let old: RedisEndpoint?
    /// The server written to from now on.
    package let new: RedisEndpoint
    /// The affected slots of a Cluster; empty without a Cluster.
    package let slots: [ClosedRange<Int>]
    /// Whether a replica took over, so that acknowledged writes may be lost.
    ///
    /// A resharding loses none.
    ///
    /// Also `true` when the old server serves no slot any more, which may have either cause.
    package let isFailover: Bool

    /// Makes a change.
    package init(
        old: RedisEndpoint?,
        new: RedisEndpoint,
        slots: [ClosedRange<Int>] = [],
        isFailover: Bool
    ) {
        self.old = old
        self.new = new
        self.slots = slots
        self.isFailover = isFailover
    }
}

/// Publishes changes of the server that is written to.
final class RedisMasterChanges: Sendable {
    /// The most changes buffered for a slow subscriber: a failover of every master of a large
    /// Cluster.
    ///
    /// Older ones are dropped, because each has the same meaning: start a new epoch.
    private static let bufferedMax = 256

    /// The state behind the lock: the subscribers.
    private struct State {
        var subscribers: [UInt64: AsyncStream<RedisMasterChange>.Continuation] = [:]
        var nextID: UInt64 = 0
        var isEnded = false
    }

    private let state = Mutex(State())

    /// Returns a stream of the changes from now on.
    func subscribe() -> AsyncStream<RedisMasterChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RedisMasterChange.self,
            bufferingPolicy: .bufferingNewest(Self.bufferedMax)
        )
        let id = state.withLock { state in
            if state.isEnded { return nil as UInt64? }
            state.nextID += 1
            state.subscribers[state.nextID] = continuation
            return state.nextID
        }
        if let id {
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.subscribers.removeValue(forKey: id) }
            }
        } else {
            continuation.finish()
        }
        return stream
    }

    /// Sends a change to all subscribers.
    func publish(_ change: RedisMasterChange) {
        for subscriber in state.withLock({ Array($0.subscribers.values) }) {
            subscriber.yield(change)
        }
    }

    /// Ends every stream.
    func end() {
        let subscribers = state.withLock { state in
            state.isEnded = true
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.finish() }
    }
}

/// The server that was written to last, kept to detect a change.
final class RedisLastMaster: Sendable {
    private let endpoint = Mutex<RedisEndpoint?>(nil)

    /// The server; `nil` before the first one.
    var current: RedisEndpoint? { endpoint.withLock { $0 } }

    /// Records the server.
    ///
    /// Returns the change, or `nil` if it is the first or the same one.
    func update(to new: RedisEndpoint) -> RedisMasterChange? {
        let old = endpoint.withLock { endpoint in
            defer { endpoint = new }
            return endpoint
        }
        guard let old, old != new else { return nil }
        return RedisMasterChange(old: old, new: new, isFailover: true)
    }
}
