import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("explanation of a wait")
struct ExplanationTests {
    private let now = Timestamp(ms: 1_780_000_000_000)

    /// Explains a watch that waits in a lane of 10 polls a second.
    private func waiting(
        due: Duration = .seconds(-1),
        isUrgent: Bool = false,
        ahead: Int,
        heldFor hold: Duration? = nil,
        failures: Int = 0
    ) -> Explanation {
        let watch = Sample.watch(createdAt: now)
        return Explanation(
            snapshot: WatchSnapshot(
                watch: watch,
                closed: nil,
                nextPollAt: now + due,
                lastError: nil,
                notify: [],
                metadata: "",
                lastEvent: nil
            ),
            queueState: .waiting(due: now + due, isUrgent: isUrgent, ahead: ahead),
            lane: LaneReport(
                watch.key.lane,
                waiting: ahead + 1,
                oldestDue: now + due,
                heldUntil: hold.map { now + $0 },
                failures: failures,
                now: now
            ),
            limit: LaneLimit(ratePerSecond: 10, burst: 1, inFlightMax: 20),
            crashes: 0
        )
    }

    @Test("while the circuit is open only the time of the probe is predicted")
    func open() {
        let explained = waiting(
            ahead: 239,
            heldFor: .seconds(5),
            failures: LaneSignal.failuresMax
        )
        #expect(explained.lane.circuit == .open)
        #expect(explained.earliest == now + .seconds(5))
        #expect(explained.reasons.first?.hasSuffix("its circuit is open") == true)
    }

    @Test("while the circuit is probing no time is predicted")
    func probing() {
        let explained = waiting(ahead: 239, failures: LaneSignal.failuresMax)
        #expect(explained.lane.circuit == .probing)
        #expect(explained.earliest == nil)
    }

    @Test("other items are a reason only if they delay the watch, with singular and plural")
    func others() {
        #expect(waiting(ahead: 30).earliest == now + .seconds(3))
        #expect(waiting(ahead: 30).reasons == ["30 watches in its lane are due before it"])
        #expect(
            waiting(isUrgent: true, ahead: 1).reasons == [
                "1 urgent watch in its lane is due before it"
            ]
        )
        let later = waiting(due: .seconds(60), ahead: 11)
        #expect(later.reasons == ["it is due at \(now + .seconds(60))"])
        #expect(waiting(due: .seconds(1), ahead: 11).reasons.count == 2)
    }

    @Test("without items ahead of it a due watch waits for a free worker")
    func withoutItemsAhead() {
        #expect(
            waiting(isUrgent: true, ahead: 0).reasons
                == ["it is due and is polled as soon as a worker is free"]
        )
    }
}
