import Synchronization

/// Tells every listener that something happened in a partition.
///
/// Lossy like Redis' pub/sub: a listener who is slow loses the oldest news and is told so by a
/// nil. A class, because a store and its listeners' ends share it.
final class NewsStreams: Sendable {
    /// News kept for a slow listener; each says only "look there", so a few are enough.
    private let bufferMax = 64
    private let state = Mutex(State())

    private struct State: Sendable {
        var next = 0
        var listeners: [Int: AsyncStream<Int?>.Continuation] = [:]
    }

    /// News from now on.
    func stream() -> AsyncStream<Int?> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int?.self,
            bufferingPolicy: .bufferingNewest(bufferMax)
        )
        let number = state.withLock { state in
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    /// Tells all listeners to look into the partitions.
    func send(_ partitions: some Sequence<Int>) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for partition in partitions {
            for listener in listeners {
                if case .dropped = listener.yield(partition) { listener.yield(nil) }
            }
        }
    }

    /// Tells all listeners that news may have been lost.
    func sendLoss() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(nil) }
    }
}
