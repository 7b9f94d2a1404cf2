import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider, watch goals")
struct WatchGoalTests {
    let start = VirtualTime.start

    func watch(
        _ goal: WatchGoal,
        status: String? = "pending",
        charge: ChargeProgress = .none,
        order: ChargeInstruction? = nil
    ) -> Watch {
        Watch(
            Sample.key(),
            goal: goal,
            createdAt: start,
            deadline: start + .seconds(3600),
            seq: 1,
            charge: order,
            state: WatchState(
                status: status.map(SourceStatus.init(unchecked:)),
                charge: charge
            )
        )
    }

    func decide(
        _ watch: Watch,
        _ status: String,
        _ rank: StatusRank,
        after: Int = 10
    ) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        let now = start + .seconds(after)
        let seen = Observation(
            status: SourceStatus(unchecked: status),
            rank: rank,
            object: RawJSON(unchecked: "{}")
        )
        return PollDecider().decide(
            PollContext(watch, at: now),
            .answer(.observed(seen)),
            using: &generator
        )
    }

    @Test(
        "each goal closes the watch at its rank, and `final` is set only if the status cannot change",
        arguments: [
            (.leftPending, .pending, nil), (.leftPending, .leftPending, .reached),
            (.leftPending, .steady, .settled), (.leftPending, .final, .settled),
            (.settled, .pending, nil), (.settled, .leftPending, nil),
            (.settled, .steady, .settled), (.settled, .final, .settled),
            (.final, .leftPending, nil), (.final, .steady, nil), (.final, .final, .settled),
        ] as [(WatchGoal, StatusRank, ClosedReason?)]
    )
    func ends(goal: WatchGoal, rank: StatusRank, reason: ClosedReason?) throws {
        let decision = decide(watch(goal), "chargeable", rank)
        let event = try #require(decision.change.event)
        #expect(event.type == "source.chargeable")
        #expect(event.closed == reason)
        #expect(event.final == (reason == .settled))
        if let reason {
            #expect(decision.verdict == .close(reason))
        } else {
            guard case .next = decision.verdict else { return fail("\(decision.verdict)") }
        }
        #expect(Event(json: event.json) == event)
    }

    @Test("a reusable source watched to `final` stays open until the deadline")
    func staysOpen() {
        let chargeable = watch(.final, status: "chargeable")
        let later = decide(chargeable, "chargeable", .steady, after: 3000)
        #expect(later.change.event == nil)
        let end = decide(chargeable, "chargeable", .steady, after: 3600)
        #expect(end.verdict == .close(.expired))
        #expect(end.change.event?.type == "watch.expired")
        let consumed = decide(chargeable, "consumed", .final)
        #expect(consumed.verdict == .close(.settled))
    }

    @Test("with a charge instruction no goal closes the watch before the bank has answered")
    func chargeFirst() {
        let charge = ChargeID(unchecked: "ch_1")
        let first = decide(watch(.leftPending, order: .whole), "chargeable", .leftPending)
        #expect(first.verdict == .next(after: .zero) && first.change.event?.closed == nil)
        let pending = watch(
            .leftPending,
            status: "chargeable",
            charge: .pending(charge),
            order: .whole
        )
        #expect(decide(pending, "consumed", .final).change.event?.closed == nil)
        let refused = watch(.leftPending, status: "chargeable", charge: .failed, order: .whole)
        #expect(decide(refused, "chargeable", .leftPending).verdict == .close(.reached))
    }

    @Test("the farther of two goals applies, in any order")
    func farther() {
        let goals: [WatchGoal] = [.leftPending, .settled, .final]
        for (index, goal) in goals.enumerated() {
            for (other, second) in goals.enumerated() {
                #expect(goal.farther(second) == goals[max(index, other)])
            }
        }
    }

    @Test("an unknown goal is rejected, and http watches have no goals before `final`")
    func refusals() {
        #expect(throws: InvalidInput.self) { try WatchGoal(named: "paid") }
        let key = WatchKey("1", of: AccountID(unchecked: "bank"), kind: .http)
        #expect(throws: InvalidInput.self) { try NewWatch(key: key, goal: .leftPending) }
        #expect(throws: Never.self) { try NewWatch(key: key, goal: .final) }
    }
}
