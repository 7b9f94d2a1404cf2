import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollHandler and its follow-ups")
struct FollowUpTests {
    private let upstream = ScriptedUpstream()
    private let seen = Observation(status: .chargeable, final: false, object: nil)

    /// A follow-up that records its outcomes and replaces them.
    private final class RecordingFollowUp: FollowUp {
        private let replacement: PollOutcome?
        private let noted = Mutex<[PollOutcome]>([])

        init(_ replacement: PollOutcome? = nil) { self.replacement = replacement }

        var outcomes: [PollOutcome] { noted.withLock { $0 } }

        func prepare(_ watch: inout Watch) { watch.charge = .whole }

        func act(
            on outcome: PollOutcome,
            _ context: inout PollContext,
            _ leased: LeasedItem<Watch>,
            timeout: Duration
        ) async -> PollOutcome {
            #expect(context.watch.charge == .whole && leased.limit(timeout) == timeout)
            noted.withLock { $0.append(outcome) }
            return replacement ?? outcome
        }
    }

    private func handle(
        _ followUps: [any FollowUp],
        lease: Duration = .seconds(30)
    ) async -> Decision<WatchChange>? {
        let watch = Sample.watch(status: "chargeable", seq: 1)
        upstream.script(watch.key.source, [.observed(seen)])
        let now = VirtualTime.start
        let handler = PollHandler(
            upstream: upstream,
            followUps: followUps,
            timeout: .seconds(8),
            logger: Sample.quiet
        )
        let lease = Lease(watch, at: now, for: lease)
        return await handler.handle(LeasedItem(lease: lease, elapsed: { .zero }))
    }

    @Test("each follow-up gets the outcome of the one before, and the last outcome is decided on")
    func order() async throws {
        let doubt = PollOutcome.charged(seen, .indeterminate("503"))
        let followUps = [RecordingFollowUp(), RecordingFollowUp(doubt), RecordingFollowUp()]
        let decision = try #require(await handle(followUps))
        let answer = PollOutcome.answer(.observed(seen))
        #expect(followUps.map(\.outcomes) == [[answer], [answer], [doubt]])
        #expect(decision.change.state.charge == .doubtful)
    }

    @Test("without follow-ups the answer is decided on, and nothing is charged")
    func none() async throws {
        let decision = try #require(await handle([]))
        #expect(decision.change.state.charge == .none && decision.change.events.isEmpty)
        #expect(upstream.calls.map(\.timeout) == [.seconds(8)])
    }

    @Test("with too little of the lease left the watch is released without a request")
    func late() async {
        let followUp = RecordingFollowUp()
        #expect(await handle([followUp], lease: .seconds(1)) == nil)
        #expect(upstream.calls.isEmpty && followUp.outcomes.isEmpty)
    }
}
