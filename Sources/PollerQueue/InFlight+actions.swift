// The actions that an ``InFlight`` requests from its worker.
extension InFlight {
    /// The pauses before an unreachable store is tried again, each twice the previous one.
    ///
    /// The longest is how long the recovery of the store may go unnoticed.
    static var pauses: (first: Duration, longest: Duration) { (.milliseconds(20), .seconds(1)) }
    /// The sleep when nothing is planned: in effect, until the worker is woken.
    static var idle: Duration { .seconds(3600) }

    /// Returns the earlier of two optional instants.
    func earlier(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// An item to handle.
    ///
    /// A class, because it passes through several lists and a task. A watch has about twenty references, and each copy
    /// would retain them one by one.
    final class Work: Sendable {
        let lease: Lease<Item>
        /// Whether its claim contains an item that may have crashed its workers.
        let isSuspect: Bool
        /// Whether its lane has no free slot, so that another item may wait for this result.
        let isLaneFull: Bool
        /// The local time of the claim's answer.
        let answered: Instant
        /// The round-trip time of the claim.
        let trip: Duration
        /// The start time of the handler.
        let startsAt: Instant
        /// The local end of the lease.
        let endsAt: Instant

        init(
            lease: Lease<Item>,
            isSuspect: Bool,
            isLaneFull: Bool,
            answered: Instant,
            trip: Duration,
            startsAt: Instant,
            endsAt: Instant
        ) {
            self.lease = lease
            self.isSuspect = isSuspect
            self.isLaneFull = isLaneFull
            self.answered = answered
            self.trip = trip
            self.startsAt = startsAt
            self.endsAt = endsAt
        }
    }

    /// The next action of the worker.
    enum Action: Sendable {
        /// Handle these items, each in its own task, and report with ``finished(_:_:now:)``.
        case start([Work])
        /// Perform these exchanges concurrently, and report each with ``answered(_:to:asked:now:)``.
        case exchange([Exchange])
        /// Cancel the handlers: the drain timeout is over.
        case cancelHandlers
        /// Sleep until the instant, or until an event wakes the worker.
        case sleep(until: Instant)
        /// Stop: the drain is complete, and nothing runs, waits or is in transit.
        case end
    }
}
