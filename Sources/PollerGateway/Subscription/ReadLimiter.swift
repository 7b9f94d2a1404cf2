import DequeModule
import PollerQueue
import Synchronization

/// Limits the concurrent store reads of a gateway's catch-ups and queues the rest.
///
/// *Problem*: after a restart all clients of a gateway connect within seconds. A hundred thousand concurrent reads
/// exceed the command limit of a Redis connection. Each excess read would fail as `unavailable`, and its client would
/// reconnect, along with all others.
///
/// *Approach*: a turn covers a single query, not a whole catch-up. Between its queries a catch-up waits for its client
/// for any length of time. A client that does not read must not keep others from starting.
///
/// *Order*: first come, first served. Each query waits for those before it, some microseconds of the store each. A
/// catch-up with a closed connection passes its turn on.
///
/// *A query whose master does not reply* loses its turn after ``turnTimeout`` (``run()``). It keeps waiting for the
/// reply, and queries to other masters start. A few thousand such queries are in flight at most.
///
/// *Limits*: the queue has one entry per subscription that reads (``GatewayWork``). A subscription that ends while the
/// store does not reply keeps its entry until its turn.
final class ReadLimiter: Sendable {
    /// The maximum of concurrent queries to the store.
    ///
    /// It is slightly more than the store needs to stay busy, and a small part of a connection's limit
    /// (`RedisConfiguration.inFlightMax`). The feed uses the same connection.
    static let concurrentReadsMax = 64

    /// The longest time that a query holds its turn, far longer than a reply takes.
    static let turnTimeout = Duration.milliseconds(100)

    private typealias Waiter = CheckedContinuation<Int, Never>

    /// The state behind the lock.
    private struct State: Sendable {
        var free: Int
        var waiting = Deque<Waiter>()
        /// The turns in use, by number, with their start.
        var taken: [Int: ContinuousClock.Instant] = [:]
        private var last = 0

        init(free: Int) { self.free = free }

        /// Starts a turn and returns its number.
        mutating func take() -> Int {
            last += 1
            taken[last] = .now
            return last
        }

        /// Ends a turn and returns the next waiter with its turn.
        ///
        /// Returns `nil` if none waits, or if the turn had already ended.
        mutating func end(_ turn: Int) -> (waiter: Waiter, turn: Int)? {
            guard taken.removeValue(forKey: turn) != nil else { return nil }
            guard let waiter = waiting.popFirst() else {
                free += 1
                return nil
            }
            return (waiter, take())
        }
    }

    private let state: Mutex<State>
    /// Signals ``run()`` that a query waits.
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    /// Creates the turns for this number of concurrent queries.
    init(_ concurrentReadsMax: Int = ReadLimiter.concurrentReadsMax) {
        state = Mutex(State(free: concurrentReadsMax))
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The number of queries that wait for a turn.
    var waitingCount: Int { state.withLock(\.waiting.count) }

    /// Ends turns that take too long while others wait, until cancelled.
    func run() async {
        for await _ in signals {
            while waitingCount > 0 {
                // Cancelled: pending queries end on their own, and their turns with them.
                do { try await Task.sleep(for: Self.turnTimeout) } catch { return }
                let end = ContinuousClock.now - Self.turnTimeout
                let late = state.withLock { state in
                    state.taken.filter { $0.value <= end }.keys.sorted()
                }
                for turn in late { leave(turn) }
            }
        }
    }

    /// Runs a query when it is its turn.
    ///
    /// A caller that is cancelled during a shutdown keeps waiting for its turn. It comes soon, because the queries
    /// before it are cancelled, too.
    /// - Parameters:
    ///   - end: the end of the subscription, after which the query is skipped, or `nil` to always run it.
    ///   - query: the query to the store.
    /// - Returns: the reply.
    /// - Throws: the error of the query, or `unavailable` if the subscription has ended.
    func perform<Answer>(
        unless end: SubscriptionEnd? = nil,
        _ query: () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        let turn = await withCheckedContinuation { (waiter: Waiter) in
            let turn: Int? = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(waiter)
                    return nil
                }
                state.free -= 1
                return state.take()
            }
            if let turn { waiter.resume(returning: turn) } else { signal.yield() }
        }
        defer { leave(turn) }
        if end?.isReached == true { throw .unavailable("the subscription has ended") }
        return try await query()
    }

    private func leave(_ turn: Int) {
        guard let next = state.withLock({ $0.end(turn) }) else { return }
        next.waiter.resume(returning: next.turn)
    }
}
