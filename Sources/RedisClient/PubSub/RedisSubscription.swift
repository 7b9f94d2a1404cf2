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
