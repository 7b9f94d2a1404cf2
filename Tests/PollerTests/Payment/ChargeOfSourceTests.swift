import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerWatches

@Suite("A source reports the state of its charge")
struct ChargeOfSourceTests: PaymentFixtures {
    private let id = ChargeID(unchecked: "ch_1")

    @Test("knowledge of a charge is stale unless the last poll, moments ago, observed it")
    func age() {
        let start = VirtualTime.start
        func isOld(after span: Duration, _ change: (inout WatchState) -> Void = { _ in }) -> Bool {
            var state = WatchState(
                status: .chargeable,
                lastPolledAt: start,
                charge: .pending(id)
            )
            change(&state)
            let scenario = PaymentScenario(state: state, charge: .whole)
            return ChargeStep.isOld(scenario.watch, at: start + span)
        }
        #expect(!isOld(after: .zero) && !isOld(after: .seconds(2)))
        #expect(isOld(after: .seconds(3)))
        // The clock was set back.
        #expect(isOld(after: .seconds(-1)))
        #expect(isOld(after: .seconds(1)) { $0.step = 1 })
        #expect(isOld(after: .seconds(1)) { $0.failures = 1 })
        #expect(isOld(after: .seconds(1)) { $0.lastPolledAt = nil })
        // A charge without money is a hold, which may have been released.
        #expect(isOld(after: .seconds(1)) { $0.charge = .succeeded(id) })
    }

    @Test("after a postponed poll the knowledge of a charge is stale", arguments: [true, false])
    func postponed(isLocked: Bool) {
        var generator = SeededGenerator(seed: 7)
        let result = isLocked ? PollResult.lockTimeout : .rateLimited(retryAfter: nil)
        func step(_ progress: ChargeProgress) -> Int {
            let state = WatchState(status: .chargeable, charge: progress)
            let watch = PaymentScenario(state: state, charge: .whole).watch
            let now = VirtualTime.start
            let context = PollContext(watch, at: now)
            return PollDecider().decide(context, .answer(result), using: &generator).change.state
                .step
        }
        #expect(step(.succeeded(id)) == 1 && step(.pending(id)) == 1)
        #expect(step(.none) == 0 && step(.failed) == 0)
    }

    @Test("a source's event has the charge that the same poll observed")
    func together() {
        var scenario = PaymentScenario(charge: .whole)
        var released = charge(.succeeded)
        released.charge?.captured = 0
        var held = released
        released.charge?.isReleased = true
        held.charge?.amount = 1099
        scenario.reader.known = ["u": source("consumed"), "held": held, "released": released]
        let found = ObservedCharge(id: id, status: .succeeded, object: NamedObjects.object("held"))
        #expect(scenario.charge(.made(found), "consumed", "u").first == "payment.authorised")
        scenario.observedCharge = scenario.seen("succeeded", "released")
        #expect(
            scenario.look("consumed", "u", rank: .final) == [
                "payment.cancelled", "source.consumed",
            ]
        )
    }

    @Test("a stored charge without money is a hold, not a payment")
    func hold() {
        var scenario = PaymentScenario()
        var held = charge(.succeeded)
        held.charge?.captured = 0
        scenario.reader.known = ["c": source("chargeable"), "u": source("consumed"), "held": held]
        _ = scenario.look("chargeable", "c", rank: .leftPending)
        let found = ObservedCharge(id: id, status: .succeeded, object: NamedObjects.object("held"))
        scenario.hint(.money)
        _ = scenario.charge(.made(found), "consumed", "u", rank: .final)
        #expect(scenario.watch.reportedPayment?.state == .authorised)
        scenario.reopen()
        #expect(scenario.look("consumed", "u", rank: .final) == [])
    }

    @Test(
        "a charge's status is never reported as the source's status",
        arguments: ["pending", "succeeded", "failed", "lost"]
    )
    func unseenSource(name: String) {
        var lost = charge(.succeeded)
        lost.charge?.dispute = .lost
        for progress in [ChargeProgress.pending(id), .succeeded(id)] {
            var scenario = PaymentScenario(state: WatchState(charge: progress), charge: .whole)
            scenario.reader.known = [
                "u": source("consumed"), "pending": charge(.pending),
                "succeeded": charge(.succeeded), "failed": charge(.failed), "lost": lost,
            ]
            let status = name == "lost" ? "succeeded" : name
            let recorded = scenario.follow(id, status, name)
            #expect(!recorded.contains { $0.hasPrefix("source.") } && scenario.closed == nil)
            #expect(scenario.watch.state.status == nil)
            let word = ["succeeded": "paid", "lost": "reversed"][name] ?? ""
            #expect(word.isEmpty || recorded.first == "payment.\(word)")
        }
    }

    @Test(
        "an answer counts as reported exactly if the decision on it has an event",
        arguments: [nil, "pending", "chargeable"]
    )
    func reported(status: String?) {
        var refunded = charge(.succeeded)
        refunded.charge?.refunded = 1099
        for progress in [ChargeProgress.pending(id), .succeeded(id)] {
            var scenario = PaymentScenario(
                state: WatchState(
                    status: status.map(SourceStatus.init(unchecked:)),
                    charge: progress
                ),
                charge: .whole
            )
            scenario.reader.known = [
                "pending": charge(.pending), "succeeded": charge(.succeeded),
                "failed": charge(.failed), "refunded": refunded, "s": source("chargeable"),
            ]
            for name in ["pending", "succeeded", "failed", "refunded"] {
                var copy = scenario
                let status = name == "refunded" ? "succeeded" : name
                let seen = copy.seen(status, name, rank: .final)
                let causesEvent = copy.context.causesEvent(seen, of: id)
                #expect(causesEvent != copy.follow(id, status, name).isEmpty, "\(progress) \(name)")
            }
            for status in ["pending", "chargeable", "consumed"] {
                var copy = scenario
                let causesEvent = PollDecider().causesEvent(copy.seen(status, "s"), copy.context)
                #expect(causesEvent != copy.look(status, "s").isEmpty, "\(progress) \(status)")
            }
        }
    }

    @Test("a review polls any known charge")
    func reviews() {
        let state = WatchState(status: .chargeable, charge: .pending(id))
        var scenario = PaymentScenario(state: state)
        #expect(scenario.step == .source)
        scenario.end(as: .reached)
        scenario.reopen()
        #expect(scenario.watch.isReview && scenario.step == .charge(id))
    }

    @Test("a source consumed after its charge was declined was charged by another system")
    func refusedAndPaid() {
        var scenario = PaymentScenario(
            state: WatchState(status: .chargeable, charge: .failed),
            charge: .whole
        )
        scenario.reader.known = ["u": source("consumed"), "ok": charge(.succeeded)]
        let seen = scenario.seen("consumed", "u", rank: .final)
        #expect(ChargeStep.action(scenario.watch, seeing: seen) == .find)
        #expect(ChargeStep.action(scenario.watch, seeing: scenario.seen("chargeable", "c")) == nil)
        let found = ObservedCharge(id: id, status: .succeeded, object: NamedObjects.object("ok"))
        #expect(
            scenario.charge(.made(found), "consumed", "u") == ["payment.paid", "charge.succeeded"]
        )
        #expect(scenario.look("consumed", "u", rank: .final) == ["source.consumed"])
    }

    @Test("payment inferred from a consumed source yields to the observed charge")
    func inferred() {
        let failed = charge(.failed)
        var proof = ChargeFacts(status: .succeeded)
        proof.captured = 1099
        var facts = source("consumed")
        facts.charge = failed.charge
        #expect(Payment(facts.following(proof)).state == .failed)
        // A charge that was observed with money does not yield.
        proof.id = id
        #expect(Payment(facts.following(proof)).state == .reversed)
        facts.charge = nil
        proof.id = nil
        #expect(Payment(facts.following(proof)).state == .paid)
        // A card's charge may be a hold, also with 3-D Secure.
        #expect(Payment(source("consumed", "three_d_secure")).state == .processing)
    }
}
