import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider, capture window")
struct PaymentWindowTests: PaymentFixtures {
    private let start = VirtualTime.start

    /// Polls a source that can be charged for seven hours, and returns the stored watch.
    ///
    /// `minute` counts from the creation of the source.
    private func look(_ watch: Watch, minute: Int64) -> (Decision<WatchChange>, Watch) {
        let reader = NamedObjects(known: ["c": source("chargeable") { $0.created = start }])
        let now = start + .seconds(minute * 60)
        var generator = SeededGenerator(seed: 7)
        let seen = Observation(
            status: .chargeable,
            rank: .leftPending,
            object: NamedObjects.object("c"),
            digest: "c",
            expiresAt: start + .seconds(7 * 3600)
        )
        let context = PollContext(watch, at: now, payments: reader)
        let decision = PollDecider().decide(context, .answer(.observed(seen)), using: &generator)
        let memory = decision.change.payment ?? watch.payment
        let next = Watch(
            key: watch.key,
            policy: watch.policy,
            createdAt: watch.createdAt,
            deadline: watch.deadline,
            run: 1,
            seq: watch.seq + decision.change.events.count,
            state: decision.change.state,
            payment: memory.map { PaymentMemory(packed: $0.packed) }
        )
        return (decision, next)
    }

    private func reported(_ watch: inout Watch, minute: Int64) -> [PaymentReason?] {
        let (decision, next) = look(watch, minute: minute)
        watch = next
        #expect(decision.change.events.allSatisfy { !$0.final && $0.closed == nil })
        return decision.change.events.filter { $0.type == "payment.authorised" }
            .map { $0.payment?.reason }
    }

    @Test("the shop is warned once after half of the window, and once when a tenth is left")
    func warned() {
        var watch = PaymentScenario().watch
        #expect(reported(&watch, minute: 0) == [nil])
        for (minute, reasons) in [
            (1, []), (209, []), (210, [.windowClosing]), (211, []), (377, []),
            (378, [.windowClosing]), (379, []), (419, []),
        ] as [(Int64, [PaymentReason?])] {
            #expect(reported(&watch, minute: minute) == reasons, "minute \(minute)")
        }
    }

    @Test("after a downtime the warning is sent at the first poll")
    func away() {
        var watch = PaymentScenario().watch
        #expect(reported(&watch, minute: 0) == [nil])
        #expect(reported(&watch, minute: 400) == [.windowClosing])
        #expect(reported(&watch, minute: 401) == [])
    }

    @Test("a poll is due at the exact time of a warning")
    func due() {
        var watch = PaymentScenario().watch
        for minute in 0..<20 as Range<Int64> { _ = reported(&watch, minute: minute) }
        #expect(look(watch, minute: 208).0.verdict == .next(after: .seconds(120)))
        #expect(look(watch, minute: 209).0.verdict == .next(after: .seconds(60)))
    }

    @Test("an unchanged memory is not written again")
    func silent() {
        var watch = PaymentScenario().watch
        _ = reported(&watch, minute: 0)
        let (decision, _) = look(watch, minute: 5)
        #expect(decision.change.payment == nil && !decision.commitsAtOnce)
    }
}
