import Poller
import PollerQueue
import Synchronization

/// Where each partition of the outbox begins and ends, as one read has found it.
struct OutboxEnds: Sendable {
    /// The newest entries ever recorded, one place for each partition.
    let newest: [OutboxPosition]
    /// The newest entries ever trimmed away: a place before one of them has lost entries.
    let trimmed: [OutboxPosition]
    /// The partitions that could not be read, because their master is away: they end where the feed has read to.
    let away: Set<Int>

    /// Reads what the store has answered; `reached` is how far the feed has read, nil before it has begun.
    ///
    /// Nil where a partition could not be read and nobody has read it before.
    init?(_ bounds: [OutboxBounds?], reached: [OutboxPosition]?) {
        away = Set(bounds.indices.filter { bounds[$0] == nil })
        guard away.isEmpty || reached != nil else { return nil }
        newest = bounds.enumerated().map { partition, bounds in
            bounds.map { OutboxPosition($0.newest) ?? .start } ?? reached?[partition] ?? .start
        }
        trimmed = bounds.map { $0.flatMap { OutboxPosition($0.trimmed) } ?? .start }
    }
}

/// Reads the ends of the outbox once for all who ask together.
///
/// *Problem*: each subscription that begins needs them, and they are some commands for each partition. When a gateway
/// starts anew, all its clients come in the same seconds, and the store is asked the same thing by each.
/// *Approach*: one read at a time (single flight). Who asks while one is under way waits for the next, which begins
/// when that one is over and is for all who have asked by then. A crowd of whatever size costs one read after the
/// other, and nobody waits for more than two.
/// *Order*: nobody is answered by a read that began before they asked, although it would be sooner. A subscription is
/// listened for before it asks. So each entry is on one side: the feed hands it out after that, and it is kept for the
/// subscription, or the feed had handed it out before; then it stood in the outbox before the subscription asked, and
/// a read that begins later finds it. An earlier read may have looked before it was recorded: it lies behind the ends,
/// where nobody reads back to, and was handed out when nobody listened. It would be lost. A cursor that was made
/// meanwhile would lie behind the ends, too, as if the store had lost what the client has.
/// *Errors*: a read that fails has failed for all it was for; whoever asks next begins another.
/// *A master that is away*: its partitions end where the feed has read to, by a look after the read. All up to there
/// was handed out, and what is behind it the feed will read when the master is back: whoever has no gap before it
/// loses nothing. Whoever has one must read it, and cannot begin; nor can anybody before the feed has begun.
///
/// The read is made by one of those who wait for it, so there is no task of its own to be ended. A class, because all
/// subscriptions of a gateway share it.
final class OutboxEndsReader: Sendable {
    private typealias Outcome = Result<OutboxEnds, StoreError>
    private typealias Waiter = CheckedContinuation<Turn, Never>

    /// What somebody who has asked gets.
    private enum Turn: Sendable {
        case answered(Outcome)
        /// It is theirs to read, for these besides.
        case reads(for: [Waiter])
    }

    /// What the lock guards.
    private struct State: Sendable {
        var isReading = false
        /// Those who have asked since the read under way was begun.
        var waiting: [Waiter] = []

        /// Whoever reads next, and for whom besides; nil when nobody has asked meanwhile.
        mutating func next() -> (reader: Waiter, others: [Waiter])? {
            guard let reader = waiting.popLast() else {
                isReading = false
                return nil
            }
            defer { waiting = [] }
            return (reader, waiting)
        }
    }

    private let outbox: any Outbox
    private let reached: @Sendable () -> [OutboxPosition]?
    private let state = Mutex(State())

    /// A reader that has not read yet; `reached` says how far the feed has read.
    init(_ outbox: any Outbox, reached: @escaping @Sendable () -> [OutboxPosition]?) {
        self.outbox = outbox
        self.reached = reached
    }

    /// How many wait for the read that follows the one under way.
    var waitingCount: Int { state.withLock(\.waiting.count) }

    /// The ends, as a read finds them that begins now or later.
    func ends() async throws(StoreError) -> OutboxEnds {
        let turn = await withCheckedContinuation { (waiter: Waiter) in
            let isFree = state.withLock { state in
                if state.isReading {
                    state.waiting.append(waiter)
                    return false
                }
                state.isReading = true
                return true
            }
            if isFree { waiter.resume(returning: .reads(for: [])) }
        }
        switch turn {
        case .answered(let outcome): return try outcome.get()
        case .reads(let others):
            let outcome = await read()
            if let (reader, rest) = state.withLock({ $0.next() }) {
                reader.resume(returning: .reads(for: rest))
            }
            for other in others { other.resume(returning: .answered(outcome)) }
            return try outcome.get()
        }
    }

    private func read() async -> Outcome {
        do throws(StoreError) {
            let bounds = try await outbox.reachableBounds()
            guard let ends = OutboxEnds(bounds, reached: reached()) else {
                return .failure(.unavailable("a master is away that was never read from here"))
            }
            return .success(ends)
        } catch {
            return .failure(error)
        }
    }
}
