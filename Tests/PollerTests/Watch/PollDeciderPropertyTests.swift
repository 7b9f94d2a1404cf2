import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerWatches

@Suite("PollDecider, property tests")
struct PollDeciderPropertyTests {
    struct Situation {
        let watch: Watch
        let result: PollResult
        let polledAt: Timestamp
        let now: Timestamp

        init(using generator: inout some RandomNumberGenerator) {
            let statuses = [nil, "pending", "chargeable", "failed"]
            let timeout = Duration.milliseconds(
                Int64.random(in: 1000...86_400_000, using: &generator)
            )
            let isReopened = Bool.random(using: &generator)
            // A watch that closed with an answer is reopened because its money may have moved.
            let endings: [ClosedReason?] = isReopened ? [nil, .settled, .reached] : [nil]
            watch = Sample.watch(
                status: statuses.randomElement(using: &generator) ?? nil,
                policy: PollPolicy.all.randomElement(using: &generator) ?? .standard,
                timeout: timeout,
                seq: Int.random(in: 0...50, using: &generator),
                step: Int.random(in: 0...100, using: &generator),
                failures: Int.random(in: 0...100, using: &generator),
                hintedAt: Bool.random(using: &generator) ? VirtualTime.start : nil,
                isReopened: isReopened,
                endedAs: endings.randomElement(using: &generator) ?? nil
            )
            let retryAfter: Duration? =
                Bool.random(using: &generator)
                ? .seconds(Int64.random(in: -10...100_000, using: &generator)) : nil
            let results: [PollResult] = [
                .pending, .status("chargeable"), .status("failed", final: true),
                .rateLimited(retryAfter: retryAfter), .objectLimited(retryAfter: retryAfter),
                .lockTimeout, .unaskable("no secret"),
                .unavailable("503", retryAfter: retryAfter), .unauthorized("403"), .gone,
                .revoked("401"), .malformed("half"),
            ]
            result = results.randomElement(using: &generator) ?? .gone
            let span = timeout.ms + timeout.ms / 5
            polledAt =
                VirtualTime.start
                + .milliseconds(Int64.random(in: 0...span, using: &generator))
            now = polledAt + .milliseconds(Int64.random(in: 0...8000, using: &generator))
        }

        var isAnswer: Bool { if case .observed = result { true } else { false } }

        /// Whether the event of this close was already reported when the watch first closed.
        func isReported(_ reason: ClosedReason, _ status: SourceStatus?) -> Bool {
            guard watch.isUnchangedSinceReopen else { return false }
            let isAsBefore = watch.isReview && status == watch.state.status
            return reason.opensOnHint || (isAsBefore && reason != .dead)
        }
    }

    @Test("rules hold", arguments: 0..<40)
    func rules(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<250 {
            let situation = Situation(using: &generator)
            let watch = situation.watch
            let decision = PollDecider().decide(
                PollContext(
                    watch,
                    due: situation.polledAt,
                    polledAt: situation.polledAt,
                    now: situation.now
                ),
                .answer(situation.result),
                using: &generator
            )
            let state = decision.change.state
            let context: Comment = "\(generator): \(situation)"
            #expect(state.attempts == watch.state.attempts + 1, context)
            switch decision.signal {
            case .fine, .failing, .erring, .denied, .stillFailing, .revoked, .garbled,
                .stillGarbled, .hold(.zero):
                break
            case .hold(let hold), .slow(let hold), .refused(let hold):
                #expect(hold > .zero && hold <= .seconds(3600), context)
            }
            if let event = decision.change.event {
                #expect(event.seq == watch.seq + 1, context)
                #expect(event.status == state.status, context)
            }
            if !situation.isAnswer {
                #expect(state.status == watch.state.status, context)
                #expect(decision.change.event?.type.hasPrefix("watch.") ?? true, context)
            }
            switch decision.verdict {
            case .next(let after):
                let grace = PollDecider.grace(timeout: watch.deadline - watch.createdAt)
                let latest =
                    situation.now < watch.end
                    ? watch.end : max(watch.end + grace, situation.now)
                #expect(after >= .zero, context)
                #expect(situation.now + after <= latest, context)
            case .close(let reason):
                // A reopened watch may close as before, which was already reported.
                let isReported = situation.isReported(reason, state.status)
                #expect((decision.change.event?.closed != nil) == !isReported, context)
                // A watch closed with an answer is never reported later as closed without one.
                #expect(!watch.isReview || !reason.opensOnHint, context)
                #expect(watch.endedAs != .settled || reason != .reached, context)
            case .rest, .setAside: Issue.record("a watch never rests")
            }
        }
    }
}
