/// Lets items that may have ended their holders run where nobody else is blamed for it.
///
/// *Problem*: a lease that ended without a word counts against its item, and after a few of them it
/// is put aside. An innocent item that ran beside the guilty one is counted too.
///
/// *Approach*: suspects of a claim wait until nothing else runs, and nothing is claimed meanwhile, nor
/// beside them once they have begun; both for a second at most. So one slow poll cannot stop a worker,
/// and a suspect that is slow itself runs on beside others.
///
/// ```
/// none ──claim of suspects──▶ pending ──nothing else runs, or 1 s──▶ begun ──all done, or 1 s──▶ none
/// ```
struct SuspectIsolation<Work: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    /// How long suspects wait at most for what runs beside them, and how long nothing is claimed
    /// beside them once they run.
    ///
    /// What ends a process does so with the answer it gets, mostly within a second: what has run
    /// for longer is neither likely to be blamed nor to be blamed for.
    static var span: Duration { .seconds(1) }

    /// Whether suspects wait, run, or are not there.
    private enum State: Sendable {
        case none
        /// They wait until nothing else runs, or until that instant.
        case pending([Work], until: Instant)
        /// They have begun: nothing is claimed beside them until then.
        case begun(until: Instant)
    }

    private var state = State.none
    /// Suspects that run, also those that have run for long enough to be trusted for the rest.
    private(set) var running = 0

    /// Whether anything may be claimed.
    var isOver: Bool { if case .none = state { true } else { false } }

    /// Whether suspects wait for others to end.
    var isPending: Bool { if case .pending = state { true } else { false } }

    /// How many suspects wait.
    var waiting: Int { if case .pending(let suspects, _) = state { suspects.count } else { 0 } }

    /// When it goes on by itself.
    var nextInstant: Instant? {
        switch state {
        case .none: nil
        case .pending(_, let until), .begun(let until): until
        }
    }

    /// Whether what an exchange under way still brings comes too late to run.
    ///
    /// It may go before suspects that wait, as what was claimed before them does; never beside those
    /// that have just begun, and no two claims of suspects go together.
    func isTooLate(isSuspicious: Bool) -> Bool {
        switch state {
        case .none: false
        case .pending: isSuspicious
        case .begun: true
        }
    }

    /// Suspects of one claim wait from now on.
    mutating func hold(_ suspects: [Work], now: Instant) {
        state = .pending(suspects, until: now.advanced(by: Self.span))
    }

    /// The suspects whose time has come; `isAlone` says that nothing else runs or is to be started.
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

    /// A suspect is done; true when others may be claimed again because of it.
    mutating func finished() -> Bool {
        running -= 1
        guard running == 0, case .begun = state else { return false }
        state = .none
        return true
    }

    /// Ends it, as for a drain; returns the suspects that have not begun.
    mutating func end() -> [Work] {
        defer { state = .none }
        if case .pending(let suspects, _) = state { return suspects }
        return []
    }
}
