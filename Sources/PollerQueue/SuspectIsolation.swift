/// Runs suspects, items that may have crashed their workers, separately, so that no other item is blamed.
///
/// *Problem*: a lease that ended without a result counts against its item, and after a few of them the item is
/// quarantined. An innocent item that ran at the same time as the guilty one is counted too.
///
/// *Approach*: the suspects of a claim wait until no other handler runs. Meanwhile nothing is claimed, and neither is
/// anything after they have started. Both waits last a second at most. So one slow poll cannot stop a worker, and a
/// slow suspect continues together with other items.
///
/// ```
/// none ──claim of suspects──▶ pending ──nothing else runs, or 1 s──▶ begun ──all done, or 1 s──▶ none
/// ```
struct SuspectIsolation<Work: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    /// The longest wait of suspects for other handlers, and the time without claims after they have started.
    ///
    /// A crash is usually caused by the answer, mostly within a second. An item that has run for longer is unlikely to
    /// cause one or to be blamed for one.
    static var span: Duration { .seconds(1) }

    /// The state of the suspects.
    private enum State: Sendable {
        case none
        /// They wait until no other handler runs, or until the instant.
        case pending([Work], until: Instant)
        /// They have started; nothing is claimed until the instant.
        case begun(until: Instant)
    }

    private var state = State.none
    /// The number of running suspects, including those after the time without claims.
    private(set) var running = 0

    /// Whether claims are allowed.
    var isOver: Bool { if case .none = state { true } else { false } }

    /// Whether suspects wait for other handlers.
    var isPending: Bool { if case .pending = state { true } else { false } }

    /// The number of waiting suspects.
    var waiting: Int { if case .pending(let suspects, _) = state { suspects.count } else { 0 } }

    /// The time of the next transition without an event.
    var nextInstant: Instant? {
        switch state {
        case .none: nil
        case .pending(_, let until), .begun(let until): until
        }
    }

    /// Whether items from an exchange in transit arrive too late to run.
    ///
    /// They may run before waiting suspects, like items claimed earlier, but never together with suspects that have
    /// just started. Two claims with suspects are never combined.
    func isTooLate(isSuspicious: Bool) -> Bool {
        switch state {
        case .none: false
        case .pending: isSuspicious
        case .begun: true
        }
    }

    /// Adds the suspects of one claim, which wait from now on.
    mutating func hold(_ suspects: [Work], now: Instant) {
        state = .pending(suspects, until: now.advanced(by: Self.span))
    }

    /// Returns the suspects that start now; `isAlone` means that nothing else runs or is about to start.
    mutating func takeDue(isAlone: Bool, now: Instant) -> [Work] {
        switch state {
        case .pending(let suspects, let until) where isAlone || until <= now:
            running += suspects.count
            state = .begun(until: now.advanced(by: Self.span))
            return suspects
        case .begun(let until) where until <= now: state = .none
        default: break
        }
        return []
    }

    /// Counts a suspect that has ended; true when claims are allowed again because of it.
    mutating func finished() -> Bool {
        running -= 1
        guard running == 0, case .begun = state else { return false }
        state = .none
        return true
    }

    /// Ends the isolation, as for a drain; returns the suspects that have not started.
    mutating func end() -> [Work] {
        defer { state = .none }
        if case .pending(let suspects, _) = state { return suspects }
        return []
    }
}
