import DequeModule
import Synchronization

/// The events that a consumer has not taken yet; bounded by count and bytes.
///
/// When full, the oldest are dropped and one gap takes their place: a slow consumer must neither
/// slow down the others nor fill the memory. A dropped `subscribed` is told again after the gap, as
/// consumers wait for it. A class because producer and consumer share it.
final class RedisSubscriptionBuffer: Sendable {
    private struct State {
        var events = Deque<RedisPubSubEvent>()
        var bytes = 0
        var hasLost = false
        var hasLostSubscribed = false
        var isEnded = false
        var continuation: CheckedContinuation<RedisPubSubEvent?, Never>?
    }

    private let eventsMax: Int
    private let bytesMax: Int
    private let state = Mutex(State())

    init(eventsMax: Int, bytesMax: Int) {
        self.eventsMax = max(1, eventsMax)
        self.bytesMax = bytesMax
    }

    /// Adds an event, dropping the oldest if there is no room.
    func push(_ event: RedisPubSubEvent) {
        let waiting: CheckedContinuation<RedisPubSubEvent?, Never>? = state.withLock { state in
            guard !state.isEnded else { return nil }
            if let continuation = state.continuation.take() { return continuation }
            state.events.append(event)
            state.bytes += event.byteCount
            while state.events.count > eventsMax
                || (state.bytes > bytesMax && state.events.count > 1)
            {
                let dropped = state.events.removeFirst()
                state.bytes -= dropped.byteCount
                state.hasLost = true
                if dropped == .subscribed { state.hasLostSubscribed = true }
            }
            return nil
        }
        waiting?.resume(returning: event)
    }

    /// Ends the sequence after what is buffered.
    func end() {
        let waiting = state.withLock { state in
            state.isEnded = true
            return state.continuation.take()
        }
        waiting?.resume(returning: nil)
    }

    /// The next event; `nil` when ended, when the task is cancelled, or for a second consumer.
    func next() async -> RedisPubSubEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let event: RedisPubSubEvent?? = state.withLock { state in
                    if let event = Self.take(&state) { return .some(event) }
                    if state.isEnded || state.continuation != nil { return .some(nil) }
                    state.continuation = continuation
                    return nil
                }
                if let event { continuation.resume(returning: event) }
            }
        } onCancel: {
            end()
        }
    }

    private static func take(_ state: inout State) -> RedisPubSubEvent? {
        if state.hasLost {
            state.hasLost = false
            return .gap
        }
        if state.hasLostSubscribed {
            state.hasLostSubscribed = false
            return .subscribed
        }
        guard let event = state.events.popFirst() else { return nil }
        state.bytes -= event.byteCount
        return event
    }
}
