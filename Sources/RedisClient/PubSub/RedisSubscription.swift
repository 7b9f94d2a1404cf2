import DequeModule
package import NIOCore
import Synchronization

/// The messages of some channels and patterns.
///
/// Iterate once. The subscription ends when its iterator is released, when the iterating task is
/// cancelled, or after ``cancel()``. The sequence also ends when the client is shut down.
package struct RedisSubscription: AsyncSequence, Sendable {
    package typealias Element = RedisPubSubEvent
    /// The sequence never fails: lost messages appear as ``RedisPubSubEvent/gap``.
    package typealias Failure = Never

    private let lifetime: Lifetime

    init(buffer: RedisSubscriptionBuffer, onEnd: @escaping @Sendable () -> Void) {
        self.lifetime = Lifetime(buffer: buffer, onEnd: onEnd)
    }

    /// Starts iterating.
    ///
    /// Events since the subscription was made are buffered, within its limits.
    package func makeAsyncIterator() -> Iterator {
        Iterator(lifetime: lifetime)
    }

    /// Returns the next event, or `nil` at the end; for one consumer without an iterator.
    package func next() async -> RedisPubSubEvent? {
        await lifetime.buffer.next()
    }

    /// Unsubscribes and ends the sequence.
    package func cancel() {
        lifetime.end()
    }

    /// Ends the subscription when its last reference is released.
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

        /// Ends the subscription; repeated calls do nothing.
        func end() {
            buffer.end()
            onEnd()
        }
    }

    /// Returns events in order.
    package struct Iterator: AsyncIteratorProtocol {
        private let consumer: Consumer

        fileprivate init(lifetime: Lifetime) {
            self.consumer = Consumer(lifetime: lifetime)
        }

        /// Returns the next event, or `nil` at the end.
        package mutating func next() async -> RedisPubSubEvent? {
            await consumer.lifetime.buffer.next()
        }

        /// Returns the next event, or `nil` at the end.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> RedisPubSubEvent? {
            await consumer.lifetime.buffer.next()
        }

        /// Ends the subscription when the loop ends, even if the sequence itself is still
        /// referenced.
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

/// An event of a subscription.
package enum RedisPubSubEvent: Sendable, Hashable {
    /// The server has confirmed every channel and pattern: messages published from now on arrive.
    /// Sent after every connect. Read data that must not be missed from its source *after* this
    /// event.
    case subscribed
    /// A message. `pattern` is the matching pattern for messages of a pattern subscription.
    case message(channel: String, pattern: String?, payload: ByteBuffer)
    /// Messages may have been lost before this point. Either the connection was replaced (then
    /// `subscribed` follows at once), or the consumer was too slow. Read the current state from its
    /// source.
    case gap

    /// The bytes that count towards ``RedisConfiguration/subscriptionBytesMax``.
    var byteCount: Int {
        guard case .message(_, _, let payload) = self else { return 0 }
        return payload.readableBytes
    }
}

/// The events that a consumer has not received yet, bounded by count and bytes.
///
/// When the buffer is full, the oldest events are dropped and one gap replaces them: a slow
/// consumer must neither delay the others nor fill the memory. A dropped `subscribed` is sent again
/// after the gap, because consumers wait for it.
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

    /// Adds an event and drops the oldest if there is no room.
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

    /// Ends the sequence after the buffered events.
    func end() {
        let waiting = state.withLock { state in
            state.isEnded = true
            return state.continuation.take()
        }
        waiting?.resume(returning: nil)
    }

    /// Returns the next event; `nil` after the end, when the task is cancelled, or for a second
    /// consumer.
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
