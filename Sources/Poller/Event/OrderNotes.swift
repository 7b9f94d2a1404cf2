import Logging
import PollerIdentity
import PollerQueue

/// Takes what is told of payments over into orders, before anybody is told of it.
///
/// *Problem*: the orders of an account lie in one partition, and what is told of their payments in others. While the
/// shard of the former is away each note waits for it, and all that stands behind would wait too.
///
/// *Approach*: accounts beside each other, what is told of one in its turn. What cannot be noted is left with all that
/// is told later of the same order or watch, and comes again. Once the partition of an account's orders has not
/// answered in time the rest is left without asking, of all accounts whose orders lie there (`PlacesAway`).
struct OrderNotes<C: Clock>: Sendable where C.Duration == Duration, C.Instant: Sendable {
    private let orders: OrderBook?
    private let refunds: DuplicateRefunds?
    private let away: PlacesAway<Int, C>
    private let clock: C
    private let logger: Logger

    /// Notes in `orders`, and has `refunds` hear of it.
    init(orders: OrderBook?, refunds: DuplicateRefunds?, clock: C, logger: Logger) {
        self.orders = orders
        self.refunds = refunds
        away = PlacesAway(clock: clock)
        self.clock = clock
        self.logger = logger
    }

    /// Whether an event may have to be noted.
    func mayConcern(_ event: Event) -> Bool {
        event.order != nil && (orders != nil || refunds != nil)
    }

    /// Whether orders did not answer lately somewhere.
    var isSomethingAway: Bool { !away.isEmpty }

    /// Those of a batch that neither have to be noted nor tell of a watch of which something has.
    func unconcerned(of entries: [OutboxEntry]) -> [OutboxEntry] {
        let concerned = Set(entries.lazy.filter { mayConcern($0.event) }.map(\.event.key))
        return entries.filter { !concerned.contains($0.event.key) }
    }

    /// Notes what entries of one account say, the oldest first.
    ///
    /// - Returns: those that are to be read again, each with the reason.
    func note(_ entries: [OutboxEntry], of account: AccountID) async -> [LeftEntry] {
        let place = orders?.partition(of: account) ?? 0
        let asking = away.mayAsk(place)
        guard asking != .no else {
            let failure = StoreError.unavailable("the orders' partition did not answer lately")
            return entries.map { LeftEntry(entry: $0, failure: failure) }
        }
        var isProbe = asking == .probe
        var left: [LeftEntry] = []
        var isAway = false
        for entry in entries {
            if let earlier = left.first(where: { isAway || $0.isBefore(entry) }) {
                left.append(LeftEntry(entry: entry, failure: earlier.failure))
                continue
            }
            let began = clock.now
            do throws(StoreError) {
                guard try await note(entry.event, isProbe: isProbe) else { continue }
                away.note(place, isThere: true, since: began)
                isProbe = false
            } catch {
                left.append(LeftEntry(entry: entry, failure: error))
                if orders?.concerns(entry.event) == true {
                    isAway = away.note(place, isThere: false, since: began)
                } else if isProbe {
                    // What a refund hints lies elsewhere: it says nothing of the orders.
                    away.giveBack(place)
                }
            }
        }
        // Nothing of it had to be asked.
        if isProbe, left.isEmpty { away.giveBack(place) }
        return left
    }

    /// Notes what an event says; false when nothing had to be asked for that.
    private func note(_ event: Event, isProbe: Bool) async throws(StoreError) -> Bool {
        guard orders?.concerns(event) == true || refunds?.concerns(event) == true else {
            return false
        }
        do throws(StoreError) {
            if isProbe {
                // What was noted although nobody waits for it is known when it is noted again.
                try await away.probing { () async throws(StoreError) in
                    try await self.note(event)
                }
            } else {
                try await note(event)
            }
        } catch .corrupt(let reason) {
            // An order of another release must not hold up what all others are told.
            logger.error(
                "order not understood",
                metadata: [
                    "order": "\(event.order?.description ?? "")", "event.id": "\(event.id)",
                    "error": "\(reason)",
                ]
            )
        }
        return true
    }

    private func note(_ event: Event) async throws(StoreError) {
        try await orders?.note(event)
        try await refunds?.note(event)
    }
}

/// An entry that is to be read again, since something that it needs does not answer.
struct LeftEntry: Sendable {
    let entry: OutboxEntry
    let failure: StoreError

    /// Whether another entry must not be dealt with before this one.
    func isBefore(_ other: OutboxEntry) -> Bool {
        entry.event.key == other.event.key || entry.event.order == other.event.order
    }
}

/// What a batch of the outbox leaves for later.
struct LeftEntries {
    /// Why the first of them was left; nil when none was.
    private(set) var failure: StoreError?
    private var watches: Set<WatchKey> = []

    /// Leaves an entry.
    mutating func leave(_ entry: OutboxEntry, because error: StoreError) {
        failure = failure ?? error
        watches.insert(entry.event.key)
    }

    /// Whether nobody is to be told of an entry now: it is left, or another one of its watch is, whose event whoever
    /// is told of this one would read too.
    func holdsBack(_ entry: OutboxEntry) -> Bool { watches.contains(entry.event.key) }
}
