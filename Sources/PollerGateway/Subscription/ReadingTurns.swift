import DequeModule
import Poller
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

    /// What the lock guards.
    private struct State: Sendable {
        var free: Int
        var waiting = Deque<CheckedContinuation<Void, Never>>()
    }

    private let state: Mutex<State>

    /// Turns for so many at a time.
    init(_ askingMax: Int = ReadingTurns.askingMax) {
        state = Mutex(State(free: askingMax))
    }

    /// How many wait for a turn.
    var waitingCount: Int { state.withLock(\.waiting.count) }

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
        await withCheckedContinuation { turn in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(turn)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { turn.resume() }
        }
        defer { leave() }
        if end?.hasCome == true { throw .unavailable("nobody listens any more") }
        return try await question()
    }

    private func leave() {
        state.withLock { state in
            guard let next = state.waiting.popFirst() else {
                state.free += 1
                return nil as CheckedContinuation<Void, Never>?
            }
            return next
        }?.resume()
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
