import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider, reopening and long watches")
struct PollDeciderReopeningTests {
    let start = VirtualTime.start
    let charge = ChargeID(unchecked: "ch_1")

    /// Creates a watch of one hour that a hint reopened at its beginning.
    func watch(
        _ status: String? = "pending",
        seq: Int = 3,
        reopenedSeq: Int? = 3,
        charge: ChargeProgress = .none,
        policy: PollPolicy = .standard,
        timeout: Duration = .seconds(3600)
    ) -> Watch {
        Watch(
            key: Sample.key(),
            policy: policy,
            createdAt: start,
            deadline: start + timeout,
            run: 2,
            seq: seq,
            reopenedSeq: reopenedSeq,
            hintedAt: reopenedSeq == nil ? nil : start,
            charge: .whole,
            state: WatchState(status: status.map(SourceStatus.init(unchecked:)), charge: charge)
        )
    }

    func decide(_ result: PollResult, _ watch: Watch, at now: Duration) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 7)
        return PollDecider().decide(
            PollContext(watch, at: start + now),
            .answer(result),
            using: &generator
        )
    }

    func wait(_ decision: Decision<WatchChange>) -> Duration? {
        guard case .next(let wait) = decision.verdict else { return nil }
        return wait
    }

    @Test(
        "a reopened watch is polled for a minute, and closes without an event if nothing changes"
    )
    func nothingNew() throws {
        let early = decide(.pending, watch(), at: .seconds(59))
        #expect(try #require(wait(early)) < .seconds(2))
        for result in [PollResult.pending, .gone] {
            let late = decide(result, watch(), at: .seconds(60))
            #expect(late.verdict == .close(result == .gone ? .gone : .expired))
            #expect(late.change.event == nil)
        }
        // This is independent of the watch's span and of an expiry at the upstream.
        let expired = Observation(
            status: SourceStatus(unchecked: "pending"),
            final: false,
            object: nil,
            expiresAt: start + .seconds(-600)
        )
        for result in [PollResult.pending, .observed(expired), .lockTimeout] {
            let short = decide(result, watch(timeout: .seconds(1)), at: .seconds(30))
            #expect(try #require(wait(short)) > .milliseconds(100), "\(result)")
        }
        // Without an answer the watch stays open to its deadline, and does not repeat its event then.
        let unanswered = decide(.unavailable("503", retryAfter: nil), watch(), at: .seconds(61))
        #expect(wait(unanswered) != nil)
        let end = decide(.unavailable("503", retryAfter: nil), watch(), at: .seconds(4000))
        #expect(end.verdict == .close(.expired) && end.change.event == nil)
    }

    @Test("a change of a reopened watch gets the next seq, and the watch continues normally")
    func reopenedChange() throws {
        let event = try #require(
            decide(.status("chargeable"), watch(), at: .seconds(10)).change.event
        )
        #expect(event.seq == 4 && event.run == 2)
        #expect(event.type == "source.chargeable" && event.previousStatus?.description == "pending")
        let reported = watch("chargeable", seq: 4, charge: .failed)
        #expect(wait(decide(.status("chargeable"), reported, at: .seconds(600))) != nil)
        let end = decide(.status("chargeable"), reported, at: .seconds(3600))
        #expect(end.verdict == .close(.expired) && end.change.event?.type == "watch.expired")
    }

    @Test("a reopened watch that ends its workers again is reported")
    func dead() {
        let decision = PollDecider().poisoned(watch(), crashes: 5, now: start)
        #expect(decision.verdict == .close(.dead) && decision.change.event?.type == "watch.dead")
    }

    @Test("a hint reopens only watches that closed without an answer")
    func opens() {
        let opening = ClosedReason.allCases.filter(\.opensOnHint)
        #expect(Set(opening) == [.expired, .gone])
    }

    @Test("a pending charge keeps its watch open for as long as the bank may take")
    func pendingCharge() throws {
        let waiting = watch("consumed", reopenedSeq: nil, charge: .pending(charge))
        var generator = SeededGenerator(seed: 7)
        func follow(_ result: PollResult, at now: Duration) -> Decision<WatchChange> {
            PollDecider().decide(
                PollContext(waiting, at: start + now),
                .chargeAnswer(charge, result),
                using: &generator
            )
        }
        let day = Duration.seconds(86_400)
        for age in [day, day * 14, day * 29] {
            let looked = follow(.status("pending"), at: age)
            #expect(try #require(wait(looked)) > .zero, "\(age)")
            #expect(looked.change.event == nil)
            let unanswered = follow(.unavailable("503", retryAfter: nil), at: age)
            #expect(wait(unanswered) != nil, "\(age)")
        }
        let late = follow(.status("succeeded", final: true), at: day * 20)
        #expect(late.change.event?.type == "charge.succeeded" && late.verdict == .close(.settled))
        let end = follow(.status("pending"), at: day * 30 + .seconds(3600))
        #expect(end.verdict == .close(.expired))
        #expect(end.change.event?.progress == .pending(charge))
        // Without a charge the watch closes at its deadline.
        let plain = watch("chargeable", reopenedSeq: nil)
        #expect(
            decide(.status("chargeable"), plain, at: .seconds(3600)).verdict == .close(.expired)
        )
    }

    @Test("the expiry of a source that is already charged does not close the watch")
    func chargedBeforeItsExpiry() {
        let waiting = watch("chargeable", reopenedSeq: nil, charge: .pending(charge))
        let seen = Observation(
            status: .chargeable,
            final: false,
            object: nil,
            expiresAt: start + .seconds(60)
        )
        #expect(wait(decide(.observed(seen), waiting, at: .seconds(7200))) != nil)
    }

    @Test("an interactive watch is polled fast and urgently for the span of its policy only")
    func interactive() throws {
        let watch = watch(reopenedSeq: nil, policy: .interactive)
        let seen = Observation(
            status: SourceStatus(unchecked: "pending"),
            final: false,
            object: nil,
            stretch: 10
        )
        let fresh = decide(.observed(seen), watch, at: .seconds(599))
        #expect(fresh.isUrgent)
        #expect(try #require(wait(fresh)) < .seconds(2))
        let old = decide(.observed(seen), watch, at: .seconds(601))
        #expect(!old.isUrgent)
        #expect(try #require(wait(old)) > .seconds(10))
    }

    @Test("without a timeout a watch lasts as long as its kind, and a given timeout is kept")
    func lives() throws {
        for id in ["src_1", "pi_1", "seti_1", "ch_1"] {
            let source = try SourceID(id)
            let kind = try #require(SourceKind(inferredFrom: source))
            let key = WatchKey(account: .main, source: source, kind: kind)
            for policy in PollPolicy.all {
                let new = try NewWatch(key: key, policy: policy)
                #expect(new.timeout == .seconds(30 * 86_400), "\(id) \(policy.name)")
            }
            #expect(try NewWatch(key: key, timeout: .seconds(5)).timeout == .seconds(5))
        }
        let other = WatchKey(account: .main, source: try SourceID("order-1"), kind: .http)
        #expect(try NewWatch(key: other).timeout == .seconds(86_400))
    }
}
