import Poller
import PollerQueue

/// A seeded run of virtual workers over a real store, against a model of what must be true.
///
/// Problem: the interleavings that break a queue (a commit after the lease, a hint during it, a
/// crash between claim and commit, a repeated commit after an answer was lost, a store that loses
/// its last second) are too many to think of one by one. Approach: draw them. A seed stands for a
/// list of ``SimulationStep``s; each is one operation of the seams by one of several workers, the
/// operator or the outbox's consumer, or some time passing. The ``SimulationModel`` says after
/// each whether the store was allowed to do what it did and whether it left what it should have
/// done, and the store's own view and its audit are compared with it. The same steps are played on
/// any store whose time a ``StoreHarness`` can move, so a failing seed is a bug report: it is
/// shortened until no step can be left out.
package struct QueueSimulation {
    /// What lanes allow in a simulation: tight, so that limits are met all the time.
    static let lane = LaneLimit(ratePerSecond: 5, burst: 3, inFlightMax: 4)
    /// What an operator sets, or takes away.
    static let ownLimits: [LaneLimit?] = [
        nil, LaneLimit(ratePerSecond: 10, burst: 1, inFlightMax: 5),
        LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 20),
        LaneLimit(ratePerSecond: 2, burst: 2, inFlightMax: 1),
    ]
    static let lease = Duration.seconds(2)
    /// After so many steps everything is compared, not only what was touched.
    private static let everything = 20

    private let seed: UInt64
    private let steps: [SimulationStep]
    private let harness: () async throws -> any StoreHarness

    /// The simulation of a seed; `harness` makes an empty store for each time it is played.
    package init(
        seed: UInt64,
        steps: Int,
        harness: @escaping () async throws -> any StoreHarness
    ) {
        self.seed = seed
        self.steps = SimulationStep.steps(seed: seed, count: steps)
        self.harness = harness
    }

    /// Plays the seed; what breaks a rule, with a minimal trace, or nil when nothing does.
    package func failure() async throws -> SimulationFailure? {
        guard let failure = try await play(steps) else { return nil }
        let shortest = try await SimulationShrinker.minimal(
            Array(steps.prefix(failure.played)),
            simpler: \.simpler
        ) {
            try await play($0) != nil
        }
        let minimal = try await play(shortest) ?? failure
        return SimulationFailure(
            seed: seed,
            steps: steps.count,
            message: minimal.message,
            trace: minimal.trace
        )
    }

    /// Plays the seed and says what is wrong, without looking for a shorter way; nil when nothing
    /// is.
    package func firstFault() async throws -> String? {
        try await play(steps)?.message
    }

    private func play(
        _ steps: [SimulationStep]
    ) async throws -> (message: String, played: Int, trace: [String])? {
        var run = try await SimulationRun(try await harness())
        var played = 0
        do {
            for step in steps {
                played += 1
                try await run.play(step, everything: played % Self.everything == 0)
                // Steps on an in-memory store never suspend; other tests want their turn.
                if played % 50 == 0 { await Task.yield() }
            }
            try await run.finish()
            return nil
        } catch let failure as ConformanceFailure {
            return (failure.message, played, run.trace)
        }
    }

    // MARK: What the steps are made of

    static func owner(_ worker: Int) -> OwnerID { OwnerID(unchecked: "worker-\(worker)") }

    static func request(_ claim: SimulationStep.Claim, worker: Int) -> ClaimRequest {
        ClaimRequest(
            partition: claim.partition,
            limit: claim.places,
            owner: owner(worker),
            lease: lease,
            lane: lane,
            ahead: .milliseconds(claim.aheadMs)
        )
    }

    /// The commit of a poll that found something.
    static func commit(
        _ lease: Lease<Watch>,
        _ outcome: SimulationStep.Outcome
    ) -> Commit<WatchChange> {
        var state = lease.item.state
        state.attempts += 1
        var events: [Event] = []
        if let number = outcome.status {
            let status = SourceStatus(unchecked: "s\(number)")
            state.status = status
            // Every other look has something to tell of the payment too.
            let subjects: [EventSubject] =
                number.isMultiple(of: 2) ? [.status] : [.payment(.processing), .status]
            events = subjects.enumerated().map { place, subject in
                Event(lease.item, of: subject, at: place, status: status, polledAt: lease.claimedAt)
            }
        }
        return Commit(
            ref: lease.ref,
            verdict: outcome.verdict,
            change: WatchChange(state: state, events: events),
            signal: outcome.signal,
            isUrgent: outcome.isUrgent
        )
    }
}
