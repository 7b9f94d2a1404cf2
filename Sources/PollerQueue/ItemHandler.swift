import PollerIdentity

/// Handles a claimed item.
///
/// This is the only difference between a worker and a notifier.
package protocol ItemHandler<Item, Change>: Sendable {
    associatedtype Item: Sendable
    associatedtype Change: Sendable

    /// Handles the item once and returns the decision to record.
    ///
    /// It never throws: a failure is a decision too, such as a later retry. It must return before the lease ends, and
    /// soon after its task is cancelled by a drain.
    ///
    /// `leased` is the item with an estimate of the store's clock. A `nil` result releases the item unchanged.
    func handle(_ leased: LeasedItem<Item>) async -> Decision<Change>?
}

/// A claimed item, with the store's time.
package struct LeasedItem<Item: Sendable>: Sendable {
    package let lease: Lease<Item>
    package let clock: LeaseClock

    /// Wraps a lease whose claim took `trip`; `elapsed` returns the local time since the answer.
    package init(
        lease: Lease<Item>,
        trip: Duration = .zero,
        elapsed: @escaping @Sendable () -> Duration
    ) {
        self.lease = lease
        clock = LeaseClock(
            claimedAt: lease.claimedAt,
            endsAt: lease.endsAt,
            trip: trip,
            elapsed: elapsed
        )
    }

    package var item: Item { lease.item }

    /// The store's time (``LeaseClock/now``).
    package var now: Timestamp { clock.now }

    /// The time for which the lease is certain to hold (``LeaseClock/remaining``).
    package var remaining: Duration { clock.remaining }
}

/// The store's time during a lease.
///
/// Not a part of ``LeasedItem``, because each use of a generic type in another module looks up its description at run
/// time, and a poll reads the time six times.
package struct LeaseClock: Sendable {
    private let claimedAt: Timestamp
    private let endsAt: Timestamp
    private let trip: Duration
    private let elapsed: @Sendable () -> Duration

    /// Creates a clock of a lease whose claim took `trip`; `elapsed` returns the local time since the answer.
    init(
        claimedAt: Timestamp,
        endsAt: Timestamp,
        trip: Duration,
        elapsed: @escaping @Sendable () -> Duration
    ) {
        self.claimedAt = claimedAt
        self.endsAt = endsAt
        self.trip = trip
        self.elapsed = elapsed
    }

    /// The store's time: the time of the claim plus the local time since the answer.
    ///
    /// It may be ahead by the duration of the answer.
    package var now: Timestamp { claimedAt + elapsed() }

    /// The time for which the lease is certain to hold, counted from when the claim was sent.
    package var remaining: Duration { endsAt - now - trip }
}

/// The decision of a handler, to be recorded under the lease.
package struct Decision<Change: Sendable>: Sendable {
    package let verdict: Verdict
    package var change: Change
    /// The effect of the attempt on the whole lane.
    package let signal: LaneSignal
    /// Whether the item is served before the others of its lane next time.
    package let isUrgent: Bool
    /// Whether the decision is committed at once, without waiting for others, because a caller waits for it.
    package let commitsAtOnce: Bool
    /// Whether this process cannot handle the item, so that other processes claim from this partition first.
    package private(set) var prefersOtherProcesses: Bool

    package init(
        verdict: Verdict,
        change: Change,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false,
        commitsAtOnce: Bool = true,
        prefersOtherProcesses: Bool = false
    ) {
        self.verdict = verdict
        self.change = change
        self.signal = signal
        self.isUrgent = isUrgent
        self.commitsAtOnce = commitsAtOnce
        self.prefersOtherProcesses = prefersOtherProcesses
    }

    /// The decision with priority for other processes, which may have the missing configuration.
    package var preferringOtherProcesses: Self {
        var copy = self
        copy.prefersOtherProcesses = true
        return copy
    }
}

extension Decision: Equatable where Change: Equatable {}
extension Decision: Hashable where Change: Hashable {}
