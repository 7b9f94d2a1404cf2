package import Logging
package import PollerIdentity
package import PollerQueue
import ServiceLifecycle

/// Checks a cluster for problems that operators must know.
package protocol IncidentChecker: Sendable {
    /// Returns the problems by kind; a kind that could not be checked is left out.
    ///
    /// `now` is the store's clock. `open` lists the reported incidents that are not resolved. The result must contain
    /// for each whether it still lasts. Errors: `StoreError` when the store cannot be read, so that nothing is known.
    func check(
        at now: Timestamp,
        open: [Incident]
    ) async throws(StoreError) -> [IncidentKind: IncidentObservation]
}

/// Reports the problems of a cluster to operators, once at the beginning and once at the end.
///
/// Every process runs one, in any role, because the lack of workers must be reported by another process. They take
/// turns, so that one check serves all of them.
///
/// ```
/// take the turn ─▶ check ─▶ decide (IncidentBoard) ─▶ end the turn: board, log and outbox in one operation
/// ```
/// *A crash* before the end leaves the board unchanged: the turn passes after ``IncidentTiming/lease``, and the next
/// process finds the same problem and reports it. After the end the report is recorded, and delivered like any event.
/// *A process that stalled* during its turn is rejected, because its turn has passed.
package struct IncidentMonitor<C: Clock>: Service where C.Duration == Duration {
    private let store: any IncidentStore
    private let checker: any IncidentChecker
    private let owner: OwnerID
    private let timing: IncidentTiming
    private let clock: C
    private let logger: Logger

    /// Creates a service that takes part in the checks.
    ///
    /// - Parameters:
    ///   - store: the store of the board.
    ///   - checker: checks the cluster.
    ///   - owner: this process.
    ///   - timing: the interval of checks, and the hold of problems.
    ///   - clock: the clock of the waits.
    ///   - logger: receives the beginnings and ends of incidents.
    package init(
        store: any IncidentStore,
        checker: any IncidentChecker,
        owner: OwnerID,
        timing: IncidentTiming,
        clock: C,
        logger: Logger
    ) {
        self.store = store
        self.checker = checker
        self.owner = owner
        self.timing = timing
        self.clock = clock
        self.logger = logger
    }

    /// Checks whenever it is this process's turn, until shutdown or cancellation.
    package func run() async {
        await clock.repeatUntilShutdown(every: timing.pause) {
            do throws(StoreError) {
                try await check()
            } catch {
                // Every other part reports an unavailable store.
                let isUnavailable = if case .unavailable = error { true } else { false }
                logger.log(
                    level: isUnavailable ? .debug : .warning,
                    "incidents not checked",
                    metadata: ["error": "\(error)"]
                )
            }
        }
    }

    /// Takes one turn, if it is due and free.
    func check() async throws(StoreError) {
        guard let check = try await store.beginCheck(owner, for: timing.lease) else { return }
        let began = clock.now
        let seen = try await checker.check(at: check.now, open: check.board.open)
        var board = check.board
        let changes = board.note(seen, at: check.now, hold: timing.hold)
        let isStored = try await store.endCheck(
            check,
            board: board,
            reporting: changes,
            pause: timing.pause(after: began.duration(to: clock.now))
        )
        guard isStored else {
            return logger.warning(
                "a check of the cluster took longer than its interval",
                metadata: ["took.ms": "\(began.duration(to: clock.now).ms)"]
            )
        }
        for incident in changes { report(incident) }
    }

    private func report(_ incident: Incident) {
        let isOver = incident.resolvedAt != nil
        var metadata: Logger.Metadata = [
            "incident": "\(incident.id)", "kind": "\(incident.kindName)",
            "what": "\(incident.message)",
        ]
        if let subject = incident.subject { metadata["subject"] = "\(subject)" }
        if let name = incident.subjectName { metadata["subject.name"] = "\(name)" }
        logger.log(
            level: isOver ? .notice : .warning,
            isOver ? "incident closed" : "incident opened",
            metadata: metadata
        )
    }
}

/// The interval of checks, and the time that a problem must last before its report.
package struct IncidentTiming: Hashable, Sendable {
    /// The time that a temporary problem must last before its report, and that the cluster must be healthy before the
    /// end is reported.
    package let hold: Duration
    /// The pause between two checks.
    package let pause: Duration
    /// The time limit of a check; the turn of a dead process passes after it.
    package let lease: Duration

    /// The range of the pause.
    ///
    /// It is a fourth of the hold, so that the hold contains several checks, and at most 5 s.
    ///
    /// A problem that does not end on its own is reported at once: a revoked key within 10 s of the poll that detected
    /// it.
    private static let pauses = Duration.milliseconds(500)...(.seconds(5))
    /// The factor by which the pause exceeds a check.
    ///
    /// A check of many lanes takes about a twentieth of the store's time, like a dashboard.
    private static let pausePerCheck = 20
    private static let pauseMax = Duration.seconds(60)

    /// Derives the intervals from the hold.
    package init(hold: Duration) {
        self.hold = hold
        pause = min(max(hold / 4, Self.pauses.lowerBound), Self.pauses.upperBound)
        // A check takes milliseconds, with 10,000 lanes a second; the store's own timeouts are 5 s.
        lease = .seconds(10)
    }

    /// Returns the pause after a check of this duration.
    func pause(after took: Duration) -> Duration {
        max(pause, min(took * Self.pausePerCheck, Self.pauseMax))
    }
}
