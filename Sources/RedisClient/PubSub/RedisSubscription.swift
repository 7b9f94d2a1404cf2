import DequeModule
package import NIOCore
import Synchronization

/// The messages of some channels and patterns, as long as somebody listens.
///
/// Iterate once. The subscription ends when its iterator is gone, when the iterating task is
/// cancelled, or after ``cancel()``; the sequence also ends when the client is shut down.
package struct RedisSubscription: AsyncSequence, Sendable {
    /// What the sequence consists of.
    package typealias Element = RedisPubSubEvent
    /// It never fails: trouble shows as ``RedisPubSubEvent/gap``.
    package typealias Failure = Never

    private let lifetime: Lifetime

    init(buffer: RedisSubscriptionBuffer, onEnd: @escaping @Sendable () -> Void) {
        self.lifetime = Lifetime(buffer: buffer, onEnd: onEnd)
    }

    /// Starts listening; events since the subscription was made are kept, within its limits.
    package func makeAsyncIterator() -> Iterator {
        Iterator(lifetime: lifetime)
    }

    /// The next event, or `nil` at the end: for one consumer without an iterator.
    package func next() async -> RedisPubSubEvent? {
        await lifetime.buffer.next()
    }

    /// Unsubscribes and ends the sequence.
    package func cancel() {
        lifetime.end()
    }

    /// Ends the subscription with its last reference.
    fileprivate final class Lifetime: Sendable {
        let buffer: RedisSubscriptionBuffer
        private let onEnd: @Sendable () -> Void

        init(buffer: RedisSubscriptionBuffer, onEnd: @escaping @Sendable () -> Void) {
            self.buffer = buffer
            self.onEnd = onEnd
        }

        deinit {
            end()
        }

        /// Ends the subscription; more than once does no harm.
        func end() {
            buffer.end()
            onEnd()
        }
    }

    /// Takes events in order.
    package struct Iterator: AsyncIteratorProtocol {
        private let consumer: Consumer

        fileprivate init(lifetime: Lifetime) {
            self.consumer = Consumer(lifetime: lifetime)
        }

        /// The next event, or `nil` at the end.
        package mutating func next() async -> RedisPubSubEvent? {
            await consumer.lifetime.buffer.next()
        }

        /// The next event, or `nil` at the end.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> RedisPubSubEvent? {
            await consumer.lifetime.buffer.next()
        }

        /// Ends the subscription when the loop is left, though the sequence itself may live on.
        fileprivate final class Consumer {
            let lifetime: Lifetime

            init(lifetime: Lifetime) {
                self.lifetime = lifetime
            }

            deinit {
                lifetime.end()
            }
        }
    }
}

/// What a subscription has to tell.
package enum RedisPubSubEvent: Sendable, Hashable {
    /// Everything subscribed to is confirmed by the server: messages published from now on arrive.
    /// Comes after every connect; what must not be missed is read from its source *after* this.
    case subscribed
    /// A message; `pattern` is the pattern that matched, if it came through one.
    case message(channel: String, pattern: String?, payload: ByteBuffer)
    /// Messages may have been lost before this point: the connection was replaced (then `subscribed`
    /// follows at once) or the consumer was too slow. Read the present state from its source.
    case gap

    /// What the event counts against ``RedisConfiguration/subscriptionBytesMax``.
    var byteCount: Int {
        guard case .message(_, _, let payload) = self else { return 0 }
        return payload.readableBytes
    }
}

/// The events that a consumer has not taken yet; bounded by count and bytes.
///
/// When full, the oldest are dropped and one gap takes their place: a slow consumer must neither
/// slow down the others nor fill the memory. A dropped `subscribed` is told again after the gap, as
/// consumers wait for it. A class because producer and consumer share it.
final class RedisSubscriptionBuffer: Sendable {
    private struct State {
        var events = Deque<RedisPubSubEvent>()
        var bytes = 0
        var hasDropped = false
        var hasDroppedSubscribed = false
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
                state.hasDropped = true
                if dropped == .subscribed { state.hasDroppedSubscribed = true }
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
        if state.hasDropped {
            state.hasDropped = false
            return .gap
        }
        if state.hasDroppedSubscribed {
            state.hasDroppedSubscribed = false
            return .subscribed
        }
        guard let event = state.events.popFirst() else { return nil }
        state.bytes -= event.byteCount
        return event
    }
}
