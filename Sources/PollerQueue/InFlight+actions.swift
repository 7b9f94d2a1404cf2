// What an ``InFlight`` asks of its worker.
extension InFlight {
    /// The pauses before an unreachable store is tried again, each twice the one before.
    ///
    /// The longest is how long a store that is back may go unnoticed.
    static var pauses: (first: Duration, longest: Duration) { (.milliseconds(20), .seconds(1)) }
    /// How long the worker sleeps when nothing is planned: until it is woken, in effect.
    static var idle: Duration { .seconds(3600) }

    /// The earlier of two instants, of which either may be none.
    func earlier(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// An item to handle.
    ///
    /// A class, because it goes through several lists and a task: a watch has some twenty parts that a
    /// copy would count one by one.
    final class Work: Sendable {
        let lease: Lease<Item>
        /// Its claim held an item that may be what ended its holders.
        let isSuspect: Bool
        /// Its lane has no slot left, so another item may wait for its result.
        let isLaneFull: Bool
        /// When the claim was answered, by the local clock.
        let answered: Instant
        /// How long that took.
        let trip: Duration
        /// When the handler begins.
        let startsAt: Instant
        /// When the lease is given up.
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

    /// What the worker is to do.
    enum Action: Sendable {
        /// Handle these, each in a task of its own, and report with ``finished(_:_:now:)``.
        case start([Work])
        /// Make these exchanges, together, and report each with ``answered(_:to:asked:now:)``.
        case exchange([Exchange])
        /// Handlers have had the time a drain allows: cancel them.
        case cancelHandlers
        /// Nothing until then, or until an event asks to be woken for.
        case sleep(until: Instant)
        /// The drain is over: nothing runs, waits or is on its way.
        case end
    }
}
