package import Logging
package import PollerIdentity
package import PollerQueue
import ServiceLifecycle

/// Looks at a cluster for what operators are to be told.
package protocol IncidentLooker: Sendable {
    /// What is wrong, by kind; a kind that could not be looked at is left out.
    ///
    /// `now` is the store's clock. `open` lists the reported incidents that are not over. The result must say of each
    /// whether it still lasts.
    /// Errors: `StoreError` when the store cannot be read: then nothing is known.
    func look(
        at now: Timestamp,
        open: [Incident]
    ) async throws(StoreError) -> [IncidentKind: Sighting]
}

extension IncidentLooker {
    /// The trouble of a cluster without open incidents, by kind.
    package func look(at now: Timestamp) async throws(StoreError) -> [IncidentKind: Sighting] {
        try await look(at: now, open: [])
    }
}

/// Has operators told what is wrong with the cluster, once when it begins and once when it is over.
///
/// Every process runs one, whatever its role: that no worker is alive must be told by somebody else. They
/// take turns, so that the cluster is looked at once for all of them.
///
/// ```
/// take the turn ─▶ look ─▶ decide (IncidentBoard) ─▶ end the turn: board, log and outbox in one operation
/// ```
/// *A crash* before the end leaves the board as it was: the turn passes after ``IncidentPace/turn``, and the
/// next one sees the same trouble and tells it. After the end it is recorded, and told like any event.
/// *A process that stood still* with a turn in its hands is refused: its turn has passed.
package struct IncidentWatch<C: Clock>: Service where C.Duration == Duration {
    private let store: any IncidentStore
    private let looker: any IncidentLooker
    private let owner: OwnerID
    private let pace: IncidentPace
    private let clock: C
    private let logger: Logger

    /// Takes part in the looking.
    ///
    /// - Parameters:
    ///   - store: where the board is kept.
    ///   - looker: what looks at the cluster.
    ///   - owner: this process.
    ///   - pace: how often, and how long trouble must last.
    ///   - clock: what it waits by.
    ///   - logger: told what begins and what is over.
    package init(
        store: any IncidentStore,
        looker: any IncidentLooker,
        owner: OwnerID,
        pace: IncidentPace,
        clock: C,
        logger: Logger
    ) {
        self.store = store
        self.looker = looker
        self.owner = owner
        self.pace = pace
        self.clock = clock
        self.logger = logger
    }

    /// Looks whenever it is this process's turn, until shut down or cancelled.
    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do throws(StoreError) {
                    try await look()
                } catch {
                    // A store that is away is told of by everything else.
                    let isAway = if case .unavailable = error { true } else { false }
                    logger.log(
                        level: isAway ? .debug : .warning,
                        "incidents not looked at",
                        metadata: ["error": "\(error)"]
                    )
                }
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: pace.pause)
            }
        }
    }

    /// One turn, if it is due and nobody has it.
    func look() async throws(StoreError) {
        guard let look = try await store.takeLook(owner, for: pace.turn) else { return }
        let began = clock.now
        let seen = try await looker.look(at: look.now, open: look.board.open)
        var board = look.board
        let news = board.note(seen, at: look.now, hold: pace.hold)
        let isStored = try await store.endLook(
            look,
            board: board,
            telling: news,
            pause: pace.pause(after: began.duration(to: clock.now))
        )
        guard isStored else {
            return logger.warning(
                "a look at the cluster took longer than its turn",
                metadata: ["took.ms": "\(began.duration(to: clock.now).ms)"]
            )
        }
        for incident in news { report(incident) }
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
            isOver ? "an incident is over" : "an incident has begun",
            metadata: metadata
        )
    }
}

/// How often a cluster is looked at, and how long trouble must last to be told.
package struct IncidentPace: Hashable, Sendable {
    /// How long trouble that may pass by itself lasts before it is told, and how long all must be well
    /// before it is told that it is over.
    package let hold: Duration
    /// The pause between two looks.
    package let pause: Duration
    /// How long a look may take; a dead process's turn passes after that.
    package let turn: Duration

    /// Checks are a fourth of the hold apart, so that several fall into it, and never more than 5 s.
    ///
    /// Trouble that does not pass without help is reported at once: a revoked key within 10 s of the poll that detected
    /// it.
    private static let pauses = Duration.milliseconds(500)...(.seconds(5))
    /// A look at many lanes takes about a twentieth of the store's time, as a dashboard does.
    private static let pausePerLook = 20
    private static let pauseMax = Duration.seconds(60)

    /// Paces by how long trouble must last.
    package init(hold: Duration) {
        self.hold = hold
        pause = min(max(hold / 4, Self.pauses.lowerBound), Self.pauses.upperBound)
        // A look takes milliseconds, with 10,000 lanes a second; the store's own timeouts are 5 s.
        turn = .seconds(10)
    }

    /// The pause after a look that took so long.
    func pause(after took: Duration) -> Duration {
        max(pause, min(took * Self.pausePerLook, Self.pauseMax))
    }
}
