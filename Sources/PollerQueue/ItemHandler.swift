import PollerIdentity

/// What to do with a claimed item; the only difference between a worker and a notifier.
package protocol ItemHandler<Item, Change>: Sendable {
    associatedtype Item: Sendable
    associatedtype Change: Sendable

    /// Looks at the item once and says what to record.
    ///
    /// Never throws: what went wrong is a decision too, such as another look after a while. Must
    /// end before the lease does, and soon after its task is cancelled, which a drain does.
    ///
    /// `leased` is the item with the store's clock as far as we know it. Nil gives the item back
    /// untouched.
    func handle(_ leased: LeasedItem<Item>) async -> Decision<Change>?
}

/// A claimed item, with the store's time.
package struct LeasedItem<Item: Sendable>: Sendable {
    package let lease: Lease<Item>
    private let trip: Duration
    private let elapsed: @Sendable () -> Duration

    /// Wraps a lease whose claim was answered after `trip`; `elapsed` tells the local span since then.
    package init(
        lease: Lease<Item>,
        trip: Duration = .zero,
        elapsed: @escaping @Sendable () -> Duration
    ) {
        self.lease = lease
        self.trip = trip
        self.elapsed = elapsed
    }

    /// The item.
    package var item: Item { lease.item }

    /// The store's clock: its time at the claim, plus what has passed here since the answer; it may be ahead of
    /// that by the time that the answer took.
    package var now: Timestamp { lease.claimedAt + elapsed() }

    /// How long the lease still holds for certain: counted from when the claim was sent.
    package var remaining: Duration { lease.endsAt - now - trip }
}

/// What follows from one look at an item, to be recorded under its lease.
package struct Decision<Change: Sendable>: Sendable {
    package let verdict: Verdict
    package var change: Change
    /// What the attempt says about the whole lane.
    package let signal: LaneSignal
    /// Served before the others of its lane next time.
    package let isUrgent: Bool
    /// Somebody waits for it: it is recorded without waiting for others to go with it.
    package let isNews: Bool
    /// This process cannot do it: others are to claim from this partition first.
    package private(set) var isForOthers: Bool

    /// Describes what to record.
    package init(
        verdict: Verdict,
        change: Change,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false,
        isNews: Bool = true,
        isForOthers: Bool = false
    ) {
        self.verdict = verdict
        self.change = change
        self.signal = signal
        self.isUrgent = isUrgent
        self.isNews = isNews
        self.isForOthers = isForOthers
    }

    /// The same, and other processes go first: they may have what we lack.
    package var leftToOthers: Self {
        var copy = self
        copy.isForOthers = true
        return copy
    }
}

extension Decision: Equatable where Change: Equatable {}
extension Decision: Hashable where Change: Hashable {}
