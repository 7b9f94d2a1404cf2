import Synchronization

/// The server that this client writes to is another one than before.
///
/// What the old one had acknowledged and the new one lacks is lost (``isFailover``), so whoever
/// counts epochs starts a new one.
package struct RedisMasterChange: Sendable, Hashable {
    /// Who was written to; `nil` for slots that nobody served.
    package let old: RedisEndpoint?
    /// Who is written to from now on.
    package let new: RedisEndpoint
    /// The slots of a Cluster that it concerns; empty without a Cluster.
    package let slots: [ClosedRange<Int>]
    /// Whether a replica took over, so that acknowledged writes may be lost; a resharding loses none.
    ///
    /// Also `true` when the old one serves nothing any more, which may have either reason.
    package let isFailover: Bool

    /// A change.
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

/// Tells everybody who listens when another server is written to.
final class RedisMasterChanges: Sendable {
    /// Changes kept for a slow subscriber: a failover of every master of a large Cluster.
    ///
    /// Older ones give way, as each says the same: count a new epoch.
    private static let bufferedMax = 256

    /// What the lock guards: the subscribers.
    private struct State {
        var subscribers: [UInt64: AsyncStream<RedisMasterChange>.Continuation] = [:]
        var nextID: UInt64 = 0
        var isEnded = false
    }

    private let state = Mutex(State())

    /// The subscribe from now on.
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

    /// Tells a change.
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

/// The server that was written to last, to notice when it is another one.
final class RedisLastMaster: Sendable {
    private let endpoint = Mutex<RedisEndpoint?>(nil)

    /// The server, once there was one.
    var current: RedisEndpoint? { endpoint.withLock { $0 } }

    /// Notes the server; returns what has changed, if anything has.
    func update(to new: RedisEndpoint) -> RedisMasterChange? {
        let old = endpoint.withLock { endpoint in
            defer { endpoint = new }
            return endpoint
        }
        guard let old, old != new else { return nil }
        return RedisMasterChange(old: old, new: new, isFailover: true)
    }
}
