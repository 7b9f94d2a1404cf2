import DequeModule
import Poller
import PollerQueue
import Synchronization

/// Lets so many readings of a gateway ask the store at a time; the others wait in a queue.
///
/// *Problem*: after a restart all clients of a gateway come in the same seconds. A hundred thousand readings that ask
/// together overrun the bound of commands that a connection to Redis has, and each that does is told `unavailable`: it
/// comes again, and so does the crowd.
/// *Approach*: a turn is for one question and not for a whole reading. Between its questions a reading waits for its
/// client, for as long as that takes, and a client that does not read must not keep others from beginning.
/// *Order*: first come, first served. Each waits for those before it, some microseconds of the store each; a reading
/// whose client has gone meanwhile passes its turn on.
/// *A question that is not answered*, because its master is away, has its turn for ``held`` and no longer (``run()``): it
/// waits on beside the others, whose masters are well. So there are a few thousand such at most.
/// *Bound*: what waits is one entry for each subscription that reads (``GatewayWork``), or has read and ended while
/// the store did not answer.
///
/// A class, because all readings of a gateway share it.
final class ReadingTurns: Sendable {
    /// Questions at the store at a time.
    ///
    /// Some more than keep it busy, and a small part of what a connection takes
    /// (`RedisConfiguration.inFlightMax`): the feed asks by the same.
    static let askingMax = 64

    /// For so long a question has its turn: far longer than an answer takes.
    static let held = Duration.milliseconds(100)

    private typealias Waiter = CheckedContinuation<Int, Never>

    /// What the lock guards.
    private struct State: Sendable {
        var free: Int
        var waiting = Deque<Waiter>()
        /// The turns that are taken, by their numbers, and since when.
        var taken: [Int: ContinuousClock.Instant] = [:]
        private var last = 0

        init(free: Int) { self.free = free }

        /// Takes a turn; its number.
        mutating func take() -> Int {
            last += 1
            taken[last] = .now
            return last
        }

        /// A turn is over: who has it next, under which number; nil when nobody waits, or it was over before.
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
    /// Tells ``run()`` that somebody waits.
    private let news: AsyncStream<Void>
    private let announce: AsyncStream<Void>.Continuation

    /// Turns for so many at a time.
    init(_ askingMax: Int = ReadingTurns.askingMax) {
        state = Mutex(State(free: askingMax))
        (news, announce) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// How many wait for a turn.
    var waitingCount: Int { state.withLock(\.waiting.count) }

    /// Ends turns that take too long, as long as somebody waits for one; until cancelled.
    func run() async {
        for await _ in news {
            while waitingCount > 0 {
                // Cancelled: what is asked ends by itself, and turns with it.
                do { try await Task.sleep(for: Self.held) } catch { return }
                let end = ContinuousClock.now - Self.held
                let late = state.withLock { state in
                    state.taken.filter { $0.value <= end }.keys.sorted()
                }
                for turn in late { leave(turn) }
            }
        }
    }

    /// Asks when it is its turn.
    ///
    /// A reading whose gateway ends waits on: those before it are cancelled at the store, and it is by its turn then.
    /// - Parameters:
    ///   - end: says whether it is still to be asked then; nil for always.
    ///   - question: what asks the store.
    /// - Returns: the answer.
    /// - Throws: what the question does; `unavailable` where nobody wants to know any more.
    func ask<Answer>(
        unless end: SubscriptionEnd? = nil,
        _ question: () async throws(StoreError) -> Answer
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
            if let turn { waiter.resume(returning: turn) } else { announce.yield() }
        }
        defer { leave(turn) }
        if end?.hasCome == true { throw .unavailable("nobody listens any more") }
        return try await question()
    }

    private func leave(_ turn: Int) {
        guard let next = state.withLock({ $0.end(turn) }) else { return }
        next.waiter.resume(returning: next.turn)
    }
}

/// Whether a subscription has ended, for its reading, which is beside the event loop.
///
/// A class, because both share it.
final class SubscriptionEnd: Sendable {
    private let flag = Atomic(false)

    /// Whether it has ended.
    var hasCome: Bool { flag.load(ordering: .relaxed) }

    /// It ends.
    func come() { flag.store(true, ordering: .relaxed) }
}
