import Synchronization

/// Tells everybody who listens when another server is written to.
final class RedisMasterNews: Sendable {
    /// Changes kept for a slow listener: a failover of every master of a large Cluster.
    ///
    /// Older ones give way, as each says the same: count a new epoch.
    private static let keptMax = 256

    private struct State {
        var listeners: [UInt64: AsyncStream<RedisMasterChange>.Continuation] = [:]
        var nextID: UInt64 = 0
        var isEnded = false
    }

    private let state = Mutex(State())

    /// The changes from now on.
    func changes() -> AsyncStream<RedisMasterChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RedisMasterChange.self,
            bufferingPolicy: .bufferingNewest(Self.keptMax)
        )
        let id = state.withLock { state in
            if state.isEnded { return nil as UInt64? }
            state.nextID += 1
            state.listeners[state.nextID] = continuation
            return state.nextID
        }
        if let id {
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
            }
        } else {
            continuation.finish()
        }
        return stream
    }

    /// Tells a change.
    func tell(_ change: RedisMasterChange) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(change) }
    }

    /// Ends every stream.
    func end() {
        let listeners = state.withLock { state in
            state.isEnded = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
