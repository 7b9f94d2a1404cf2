import PollerPayments
import PollerQueue
import PollerWatches

/// A seeded run of virtual workers on a real store, checked against a model.
///
/// Problem: the interleavings that break a queue (a commit after the lease, a hint during it, a crash between claim and
/// commit, a repeated commit after a lost reply, a store that loses its last second) are too many to list by hand.
/// Approach: draw them. A seed determines a list of ``SimulationStep``s. Each is one operation of the store protocols
/// by one of several workers, the operator or the outbox's consumer, or a pause. After each step, the
/// ``SimulationModel`` checks whether the store was allowed to act as it did and whether it omitted anything. The
/// store's own data and its audit are compared with the model. The same steps are played on any store whose time a
/// ``StoreHarness`` can move, so a failing seed is a bug report: it is shortened until no step can be left out.
package struct QueueSimulation {
    /// The limits of lanes in a simulation: tight, so that they are reached all the time.
    static let lane = LaneLimit(ratePerSecond: 5, burst: 3, inFlightMax: 4)
    /// The limits that an operator sets or removes.
    static let ownLimits: [LaneLimit?] = [
        nil, LaneLimit(ratePerSecond: 10, burst: 1, inFlightMax: 5),
        LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 20),
        LaneLimit(ratePerSecond: 2, burst: 2, inFlightMax: 1),
    ]
    static let lease = Duration.seconds(2)
    /// The number of steps after which everything is compared, not only the items of the step.
    private static let everything = 20

    private let seed: UInt64
    private let steps: [SimulationStep]
    private let harness: () async throws -> any StoreHarness

    /// Creates the simulation of a seed; `harness` makes an empty store for each play.
    package init(
        seed: UInt64,
        steps: Int,
        harness: @escaping () async throws -> any StoreHarness
    ) {
        self.seed = seed
        self.steps = SimulationStep.steps(seed: seed, count: steps)
        self.harness = harness
    }

    /// Plays the seed; returns a violated rule with a minimal trace, or `nil`.
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

    /// Plays the seed and returns the first fault without shortening the steps, or `nil`.
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
                // Steps on an in-memory store never suspend, so other tests need a chance to run.
                if played % 50 == 0 { await Task.yield() }
            }
            try await run.finish()
            return nil
        } catch let failure as ConformanceFailure {
            return (failure.message, played, run.trace)
        }
    }

    // MARK: Parts of the steps

    static func owner(_ worker: Int) -> OwnerID { OwnerID(unchecked: "worker-\(worker)") }

    static func request(_ claim: SimulationStep.Claim, worker: Int) -> ClaimRequest {
        ClaimRequest(
            partition: claim.partition,
            limit: claim.slots,
            owner: owner(worker),
            lease: lease,
            lane: lane,
            ahead: .milliseconds(claim.aheadMs)
        )
    }

    /// Returns the commit of a poll with an outcome.
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
            // Every other poll also reports a payment.
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
