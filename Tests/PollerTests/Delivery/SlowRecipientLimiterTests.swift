import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerQueue
@testable import PollerWatches

@Suite("slow receivers of an account")
struct SlowRecipientLimiterTests {
    let slow = SlowRecipientLimiter(slots: 16)
    let acme = SlowRecipientLimiter.RecipientGroup(
        account: AccountID(unchecked: "acme"),
        channel: "http"
    )
    let rival = SlowRecipientLimiter.RecipientGroup(
        account: AccountID(unchecked: "rival"),
        channel: "http"
    )

    /// Returns how many of `count` simultaneous attempts may begin.
    func begin(
        _ count: Int,
        _ group: SlowRecipientLimiter.RecipientGroup,
        _ host: String = "a.example",
        at ms: Int64
    ) -> Int {
        (0..<count).count { _ in slow.begin(group, host, now: Timestamp(ms: ms)) == nil }
    }

    func end(
        _ group: SlowRecipientLimiter.RecipientGroup,
        _ host: String = "a.example",
        began: Int64,
        at ms: Int64
    ) {
        slow.end(group, host, began: Timestamp(ms: began), now: Timestamp(ms: ms))
    }

    @Test("an account's slow attempts hold half of the slots, the next account's half of the rest")
    func halves() {
        #expect(begin(8, acme, at: 0) == 8)
        // No attempt is slow yet, so none is postponed.
        #expect(begin(8, acme, at: 999) == 8)
        for _ in 0..<8 { end(acme, began: 999, at: 999) }
        #expect(begin(1, acme, "b.example", at: 1000) == 0)
        // Most attempts are slow now. Until its own speed is known, another account may take at most a quarter of the
        // free slots.
        #expect(begin(7, rival, at: 1000) == 6)
        #expect(begin(1, rival, at: 2000) == 0)
        let third = SlowRecipientLimiter.RecipientGroup(
            account: AccountID(unchecked: "third"),
            channel: "http"
        )
        #expect(begin(5, third, at: 2000) == 4)
        #expect(begin(1, third, at: 3000) == 0)
    }

    @Test("slow attempts leave their slots before waiting deliveries are released")
    func patience() {
        typealias Waiting = ClaimedAhead<Int, Int, ContinuousClock.Instant>
        #expect(SlowRecipientLimiter.patience <= Waiting.slotWait)
    }

    @Test("slow attempts to one host leave slots for other hosts")
    func hosts() {
        #expect(begin(8, acme, at: 0) == 8)
        for _ in 0..<2 { end(acme, began: 0, at: 3000) }
        #expect(begin(1, acme, at: 3000) == 0)
        #expect(begin(1, acme, "b.example", at: 3000) == 1)
        // After three very slow attempts, all attempts to the host count, even new ones.
        end(acme, began: 0, at: 3000)
        #expect(begin(2, acme, at: 3000) == 1)
        end(acme, began: 0, at: 3000)
        // One fast answer does not change that most are slow.
        end(acme, began: 3000, at: 3001)
        #expect(begin(6, acme, at: 3001) == 2)
        // After two more fast answers the host is no longer suspect.
        for _ in 0..<2 { end(acme, began: 3001, at: 3002) }
        #expect(begin(6, acme, at: 3002) == 6)
    }

    @Test("attempts of a second or two do not mark a host as silent")
    func lame() {
        #expect(begin(5, acme, at: 0) == 5)
        for _ in 0..<4 { end(acme, began: 0, at: 2900) }
        #expect(begin(9, acme, at: 2900) == 9)
    }

    @Test("slow attempts of many accounts always leave slots for the next account")
    func sum() {
        let slow = SlowRecipientLimiter(slots: 256)
        var runningCount = 0
        // One account for each second of an attempt.
        for account in 0..<15 {
            let group = SlowRecipientLimiter.RecipientGroup(
                account: AccountID(unchecked: "account\(account)"),
                channel: "http"
            )
            // Each account sends a burst, and its speed is unknown for the first second.
            let now = Timestamp(ms: Int64(account) * 1000)
            let begun = (0..<256).count { slow.begin(group, "h\($0).example", now: now) == nil }
            #expect(begun >= 1, "account \(account)")
            runningCount += begun
        }
        // All slots, and as many attempts that have left theirs.
        #expect(runningCount < 2 * 256)
    }

    @Test("slow mail attempts do not affect webhooks of the account")
    func channels() {
        let mail = SlowRecipientLimiter.RecipientGroup(account: acme.account, channel: "mailto")
        #expect(begin(8, mail, at: 0) == 8)
        #expect(begin(1, mail, at: 1000) == 0)
        #expect(begin(1, acme, at: 1000) == 1)
    }

    @Test("finished attempts let others begin")
    func ends() {
        #expect(begin(8, acme, "a.example", at: 0) == 8)
        #expect(begin(1, acme, "b.example", at: 5000) == 0)
        end(acme, began: 0, at: 5000)
        #expect(begin(2, acme, "b.example", at: 5000) == 2)
        // A clock that was set back keeps the attempts in order.
        #expect(begin(1, acme, "b.example", at: 4000) == 1)
        #expect(begin(1, acme, "c.example", at: 5000) == 0)
    }

    @Test("postponed attempts return one after the other, in order of arrival")
    func line() {
        #expect(begin(8, acme, at: 0) == 8)
        let waits = (0..<12_000).map { _ in
            slow.begin(acme, "a.example", now: Timestamp(ms: 1000)) ?? .zero
        }
        #expect(waits.first == .seconds(3) && waits[1] == .milliseconds(3005))
        #expect(waits == waits.sorted() && waits.last == .seconds(60))
        // Another host waits only for the limit of the account.
        let other = slow.begin(acme, "b.example", now: Timestamp(ms: 1000))
        #expect(other == .milliseconds(15_000))
        #expect(slow.begin(acme, "a.example", isNeeded: true, now: Timestamp(ms: 1000)) == nil)
    }

    @Test("a notifier with few slots still gives every account one")
    func few() {
        let slow = SlowRecipientLimiter(slots: 1)
        #expect(slow.begin(acme, "a.example", now: Timestamp(ms: 0)) == nil)
        #expect(slow.begin(acme, "b.example", now: Timestamp(ms: 1000)) != nil)
        #expect(slow.begin(rival, "a.example", now: Timestamp(ms: 1000)) == nil)
    }

    @Test("a postponed attempt still notifies the fallback in time, and pauses a failing endpoint")
    func deciding() throws {
        let decider = DeliveryDecider(schedule: .webhook, notifyBy: .seconds(10))
        let event = Sample.event(seq: 1)
        func postpone(after span: Duration, outage: LaneOutage? = nil) -> DeliveryDecision {
            let now = event.polledAt + span
            return decider.postpone(
                DeliveryState(),
                event,
                for: .seconds(4),
                outage: outage,
                now: now
            )
        }
        let soon = postpone(after: .seconds(1))
        #expect(soon.verdict == .next(after: .seconds(4)) && soon.signal == .hold(.zero))
        #expect(soon.state == DeliveryState() && !soon.escalates)
        #expect(postpone(after: .seconds(9)).verdict == .next(after: .seconds(1)))
        let late = postpone(after: .seconds(10))
        #expect(late.escalates && late.state.escalated == event.seq)
        #expect(late.verdict == .next(after: .seconds(4)))
        // The event is long past, so this is a repeat. It was accepted, or the fallback notified, when it was new.
        #expect(!postpone(after: .seconds(71)).escalates)
        let failing = LaneOutage(failures: 3, since: event.polledAt)
        #expect(postpone(after: .seconds(1), outage: failing).signal == .hold(.zero))
        let open = LaneOutage(failures: LaneSignal.failuresMax, since: event.polledAt)
        #expect(postpone(after: .seconds(1), outage: open).signal == .hold(.seconds(4)))
    }
}

extension DeliveryHandlerTests {
    @Test("an attempt is postponed without a trace if too many of its account are slow")
    func postpone() async throws {
        try await record(["a"])
        let channel = HangingChannel()
        let handler = DeliveryHandler(
            store: store,
            channels: [channel],
            slots: 2,
            logger: Sample.quiet
        )
        let (first, later) = try (leased(after: .zero), leased(after: .seconds(2)))
        let slow = Task { await handler.handle(first) }
        var arrivals = channel.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        let put = try #require(await handler.handle(later))
        #expect(put.change.state == DeliveryState() && put.change.attempt == nil)
        guard case .next(let wait) = put.verdict else { return #expect(Bool(false), "\(put)") }
        #expect(wait == .seconds(3))
        #expect(put.change.lastError?.contains("respond slowly") == true)
        slow.cancel()
        #expect(await slow.value == nil)
        let again = Task { await handler.handle(later) }
        _ = await arrivals.next()
        again.cancel()
    }

    private func leased(after span: Duration) throws -> LeasedItem<Delivery> {
        let leased = try leased(DeliveryState(), url: "https://a.example/hook")
        return LeasedItem(lease: leased.lease) { span }
    }
}

/// A channel that reports each attempt and suspends it until cancellation.
private struct HangingChannel: DeliveryChannel {
    let schemes: Set<String> = ["https"]
    let timeout = Duration.seconds(10)
    let schedule = RetrySchedule.webhook
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init() { (arrivals, arrival) = AsyncStream.makeStream() }

    func supports(_ event: Event) -> Bool { true }

    func deliver(_ event: Event, to target: DeliveryTarget, attempt: Int) async -> AttemptResult {
        arrival.yield()
        // Only cancellation ends this sleep.
        try? await Task.sleep(for: .seconds(60))
        return .failed("cut", after: nil)
    }
}
