import Logging
import PollerIdentity
import PollerQueue
import PollerWatches

/// Applies payment events to orders, before the events are delivered.
///
/// *Problem*: the orders of an account are in one partition, and the events of their payments in others. While the
/// shard of the former is unavailable, each update waits for it, and all later entries would wait too.
///
/// *Approach*: accounts are processed concurrently, the events of one account in order. An event that cannot be applied
/// is deferred with all later events of the same order or watch, and read again. Once the partition of an account's
/// orders has not answered in time, the rest is deferred without a request, for all accounts with orders there
/// (`UnreachablePartitions`).
struct OrderUpdater<C: Clock>: Sendable where C.Duration == Duration, C.Instant: Sendable {
    private let orders: OrderService?
    private let refunds: DuplicateRefunds?
    private let unreachable: UnreachablePartitions<Int, C>
    private let clock: C
    private let logger: Logger

    /// Creates an updater of `orders` that also informs `refunds`.
    init(orders: OrderService?, refunds: DuplicateRefunds?, clock: C, logger: Logger) {
        self.orders = orders
        self.refunds = refunds
        unreachable = UnreachablePartitions(clock: clock)
        self.clock = clock
        self.logger = logger
    }

    func mayConcern(_ event: Event) -> Bool {
        event.order != nil && (orders != nil || refunds != nil)
    }

    /// Whether some partition of orders did not answer recently.
    var hasUnreachablePartition: Bool { !unreachable.isEmpty }

    /// Returns the entries of a batch whose watches have no events that concern an order.
    func unconcerned(of entries: [OutboxEntry]) -> [OutboxEntry] {
        let concerned = Set(entries.lazy.filter { mayConcern($0.event) }.map(\.event.key))
        return entries.filter { !concerned.contains($0.event.key) }
    }

    /// Applies the entries of one account, the oldest first.
    ///
    /// - Returns: the entries to be read again, each with the reason.
    func note(_ entries: [OutboxEntry], of account: AccountID) async -> [DeferredEntry] {
        let partition = orders?.partition(of: account) ?? 0
        let permission = unreachable.requestPermission(partition)
        guard permission != .no else {
            let failure = StoreError.unavailable("the partition of the orders does not respond")
            return entries.map { DeferredEntry(entry: $0, failure: failure) }
        }
        var isProbe = permission == .probe
        var deferred: [DeferredEntry] = []
        var isUnreachable = false
        for entry in entries {
            if let earlier = deferred.first(where: { isUnreachable || $0.isBefore(entry) }) {
                deferred.append(DeferredEntry(entry: entry, failure: earlier.failure))
                continue
            }
            let began = clock.now
            do throws(StoreError) {
                guard try await note(entry.event, isProbe: isProbe) else { continue }
                unreachable.note(partition, isThere: true, since: began)
                isProbe = false
            } catch {
                deferred.append(DeferredEntry(entry: entry, failure: error))
                if orders?.concerns(entry.event) == true {
                    isUnreachable = unreachable.note(partition, isThere: false, since: began)
                } else if isProbe {
                    // The target of a refund's hint is in another partition, so its failure says nothing about the
                    // orders.
                    unreachable.releaseProbe(partition)
                }
            }
        }
        // No entry needed a request.
        if isProbe, deferred.isEmpty { unreachable.releaseProbe(partition) }
        return deferred
    }

    /// Applies an event; false when no request was needed.
    private func note(_ event: Event, isProbe: Bool) async throws(StoreError) -> Bool {
        guard orders?.concerns(event) == true || refunds?.concerns(event) == true else {
            return false
        }
        do throws(StoreError) {
            if isProbe {
                // A note that takes effect after the time limit is recognised when it is repeated.
                try await unreachable.probe { () async throws(StoreError) in
                    try await self.note(event)
                }
            } else {
                try await note(event)
            }
        } catch .corrupt(let reason) {
            // An order of another release must not block the deliveries of all others.
            logger.error(
                "order cannot be read",
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
        for duplicate in try await refunds?.note(event) ?? [] {
            logger.warning(
                "a duplicate payment is not refunded: its watch is cancelled, dead or deleted",
                metadata: [
                    "account": "\(duplicate.account)",
                    "order": "\(event.order?.description ?? "")",
                    "source": "\(duplicate.source)",
                ]
            )
        }
    }
}

/// An entry to be read again, because a partition that it needs does not answer.
struct DeferredEntry: Sendable {
    let entry: OutboxEntry
    let failure: StoreError

    /// Whether another entry must wait for this one.
    func isBefore(_ other: OutboxEntry) -> Bool {
        entry.event.key == other.event.key || entry.event.order == other.event.order
    }
}

/// The deferred entries of a batch of the outbox.
struct DeferredEntries {
    /// The reason of the first deferral; `nil` without one.
    private(set) var failure: StoreError?
    private var watches: Set<WatchKey> = []

    /// Defers an entry.
    mutating func postpone(_ entry: OutboxEntry, because error: StoreError) {
        failure = failure ?? error
        watches.insert(entry.event.key)
    }

    /// Whether an entry must not be delivered now: it, or another entry of its watch, is deferred, whose event the same
    /// delivery would read.
    func holdsBack(_ entry: OutboxEntry) -> Bool { watches.contains(entry.event.key) }
}
