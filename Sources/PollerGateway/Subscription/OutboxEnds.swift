import PollerDeliveries
import PollerQueue
import Synchronization

/// The beginning and end of each partition of the outbox, as of one read.
struct OutboxEnds: Sendable {
    /// The newest entries ever recorded, one position per partition.
    let newest: [OutboxPosition]
    /// The newest entries ever trimmed.
    ///
    /// A position before one of them has lost entries.
    let trimmed: [OutboxPosition]
    /// The partitions with an unavailable master.
    ///
    /// They end at the feed's position.
    let unavailablePartitions: Set<Int>

    /// Interprets the store's reply.
    ///
    /// `reached` is the feed's position, or `nil` before it has begun.
    ///
    /// Returns `nil` if a partition could not be read and the feed has never read it.
    init?(_ bounds: [OutboxBounds?], reached: [OutboxPosition]?) {
        unavailablePartitions = Set(bounds.indices.filter { bounds[$0] == nil })
        guard unavailablePartitions.isEmpty || reached != nil else { return nil }
        newest = bounds.enumerated().map { partition, bounds in
            bounds.map { OutboxPosition($0.newest) ?? .start } ?? reached?[partition] ?? .start
        }
        trimmed = bounds.map { $0.flatMap { OutboxPosition($0.trimmed) } ?? .start }
    }
}

/// Reads the ends of the outbox once for all concurrent requests.
///
/// *Problem*: each subscription needs the ends at its start, and they take some commands per partition. After a restart
/// of a gateway all its clients connect within seconds, and each would send the same query.
///
/// *Approach*: one read at a time (single flight). A request during a read waits for the next one, which starts when
/// the current one ends and serves all requests made by then. Any number of requests costs one read after the other,
/// and each waits for at most two.
///
/// *Order*: a read that began before a request never serves it, although that would be faster. A subscription is
/// registered before its request. So each entry is covered. If the feed distributes it after the registration, it is
/// kept for the subscription. If the feed distributed it before, it was in the outbox before the request, and a later
/// read finds it. An earlier read may have run before the entry was recorded. The entry would then be after the ends,
/// where no catch-up reads, and it would have been distributed before the registration. It would be lost. A cursor made
/// meanwhile would also be after the ends, as if the store had lost the client's events.
///
/// *Errors*: a failed read fails all requests it serves. The next request starts another.
///
/// *An unavailable master*: its partitions end at the feed's position, taken after the read. Everything up to there was
/// distributed, and the feed reads later entries when the master is available again. A subscription without a gap
/// before that position loses nothing. A subscription with a gap must read it and cannot begin. Before the feed has
/// begun, no subscription can.
///
/// One of the waiting tasks performs the read, so there is no separate task to end.
final class OutboxEndsReader: Sendable {
    private typealias Outcome = Result<OutboxEnds, StoreError>
    private typealias Waiter = CheckedContinuation<ReadRole, Never>

    /// The result of a request.
    private enum ReadRole: Sendable {
        case answered(Outcome)
        /// The caller performs the read, also for these waiters.
        case reads(for: [Waiter])
    }

    /// The state behind the lock.
    private struct State: Sendable {
        var isReading = false
        /// The requests made since the current read began.
        var waiting: [Waiter] = []

        /// Returns the next reader and the waiters it serves, or `nil` without waiting requests.
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

    /// Creates a reader.
    ///
    /// `reached` returns the feed's position.
    init(_ outbox: any Outbox, reached: @escaping @Sendable () -> [OutboxPosition]?) {
        self.outbox = outbox
        self.reached = reached
    }

    /// The number of requests that wait for the next read.
    var waitingCount: Int { state.withLock(\.waiting.count) }

    /// Returns the ends, from a read that begins now or later.
    func ends() async throws(StoreError) -> OutboxEnds {
        let role = await withCheckedContinuation { (waiter: Waiter) in
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
        switch role {
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
