import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerQueue

@Suite("Slow receivers of an account")
struct SlowReceiversTests {
    let slow = SlowReceivers(places: 16)
    let acme = SlowReceivers.Party(account: AccountID(unchecked: "acme"), channel: "http")
    let rival = SlowReceivers.Party(account: AccountID(unchecked: "rival"), channel: "http")

    /// How many of `count` attempts at once may begin at an instant.
    func begin(
        _ count: Int,
        _ party: SlowReceivers.Party,
        _ host: String = "a.example",
        at ms: Int64
    ) -> Int {
        (0..<count).count { _ in slow.begin(party, host, now: Timestamp(ms: ms)) == nil }
    }

    func end(_ party: SlowReceivers.Party, _ host: String = "a.example", began: Int64, at ms: Int64)
    {
        slow.end(party, host, began: Timestamp(ms: began), now: Timestamp(ms: ms))
    }

    @Test("hold half of the places, and the next account half of what they leave")
    func halves() {
        #expect(begin(8, acme, at: 0) == 8)
        // None of them is slow yet, so nobody is put off.
        #expect(begin(8, acme, at: 999) == 8)
        for _ in 0..<8 { end(acme, began: 999, at: 999) }
        #expect(begin(1, acme, "b.example", at: 1000) == 0)
        // Now that most are slow, nobody else may take more than a quarter of what is left before it is known how
        // they are.
        #expect(begin(7, rival, at: 1000) == 6)
        #expect(begin(1, rival, at: 2000) == 0)
        let third = SlowReceivers.Party(account: AccountID(unchecked: "third"), channel: "http")
        #expect(begin(5, third, at: 2000) == 4)
        #expect(begin(1, third, at: 3000) == 0)
    }

    @Test("leave their places before what waits for one is given back")
    func patience() {
        typealias Waiting = Upcoming<Int, Int, ContinuousClock.Instant>
        #expect(SlowReceivers.patience <= Waiting.placeWait)
    }

    @Test("of one host leave a part to those of another")
    func hosts() {
        #expect(begin(8, acme, at: 0) == 8)
        for _ in 0..<2 { end(acme, began: 0, at: 3000) }
        #expect(begin(1, acme, at: 3000) == 0)
        #expect(begin(1, acme, "b.example", at: 3000) == 1)
        // From the third on those count too that have just begun.
        end(acme, began: 0, at: 3000)
        #expect(begin(2, acme, at: 3000) == 1)
        end(acme, began: 0, at: 3000)
        // One answers in time: most are slow all the same.
        end(acme, began: 3000, at: 3001)
        #expect(begin(6, acme, at: 3001) == 2)
        // Two answer: they are not all slow.
        for _ in 0..<2 { end(acme, began: 3001, at: 3002) }
        #expect(begin(6, acme, at: 3002) == 6)
    }

    @Test("that take a second or two are no silent host")
    func lame() {
        #expect(begin(5, acme, at: 0) == 5)
        for _ in 0..<4 { end(acme, began: 0, at: 2900) }
        #expect(begin(9, acme, at: 2900) == 9)
    }

    @Test("of many accounts together always leave places to the next")
    func sum() {
        let slow = SlowReceivers(places: 256)
        var underWay = 0
        // As many as there are seconds in an attempt.
        for account in 0..<15 {
            let party = SlowReceivers.Party(
                account: AccountID(unchecked: "account\(account)"),
                channel: "http"
            )
            // A burst each, of which nobody knows before a second has passed how slow it is.
            let now = Timestamp(ms: Int64(account) * 1000)
            let begun = (0..<256).count { slow.begin(party, "h\($0).example", now: now) == nil }
            #expect(begun >= 1, "account \(account)")
            underWay += begun
        }
        // The places, and as many attempts that have lost theirs.
        #expect(underWay < 2 * 256)
    }

    @Test("by mail say nothing of its webhooks")
    func channels() {
        let mail = SlowReceivers.Party(account: acme.account, channel: "mailto")
        #expect(begin(8, mail, at: 0) == 8)
        #expect(begin(1, mail, at: 1000) == 0)
        #expect(begin(1, acme, at: 1000) == 1)
    }

    @Test("that have answered let the others begin")
    func ends() {
        #expect(begin(8, acme, "a.example", at: 0) == 8)
        #expect(begin(1, acme, "b.example", at: 5000) == 0)
        end(acme, began: 0, at: 5000)
        #expect(begin(2, acme, "b.example", at: 5000) == 2)
        // A clock that was set back finds them in order.
        #expect(begin(1, acme, "b.example", at: 4000) == 1)
        #expect(begin(1, acme, "c.example", at: 5000) == 0)
    }

    @Test("come back one after the other, the first that came first")
    func line() {
        #expect(begin(8, acme, at: 0) == 8)
        let waits = (0..<12_000).map { _ in
            slow.begin(acme, "a.example", now: Timestamp(ms: 1000)) ?? .zero
        }
        #expect(waits.first == .seconds(3) && waits[1] == .milliseconds(3005))
        #expect(waits == waits.sorted() && waits.last == .seconds(60))
        // Another host stands in the account's line alone.
        let other = slow.begin(acme, "b.example", now: Timestamp(ms: 1000))
        #expect(other == .milliseconds(15_000))
        #expect(slow.begin(acme, "a.example", isNeeded: true, now: Timestamp(ms: 1000)) == nil)
    }

    @Test("are as many as an account may have at least, in a notifier with few places")
    func few() {
        let slow = SlowReceivers(places: 1)
        #expect(slow.begin(acme, "a.example", now: Timestamp(ms: 0)) == nil)
        #expect(slow.begin(acme, "b.example", now: Timestamp(ms: 1000)) != nil)
        #expect(slow.begin(rival, "a.example", now: Timestamp(ms: 1000)) == nil)
    }

    @Test("have the fallback told in time, and hold an endpoint that fails already")
    func deciding() throws {
        let decider = DeliveryDecider(schedule: .webhook, notifyBy: .seconds(10))
        let event = Sample.event(seq: 1)
        func putOff(after span: Duration, trouble: LaneTrouble? = nil) -> DeliveryDecision {
            let now = event.polledAt + span
            return decider.putOff(
                DeliveryState(),
                event,
                for: .seconds(4),
                trouble: trouble,
                now: now
            )
        }
        let soon = putOff(after: .seconds(1))
        #expect(soon.verdict == .next(after: .seconds(4)) && soon.signal == .hold(.zero))
        #expect(soon.state == DeliveryState() && !soon.escalates)
        #expect(putOff(after: .seconds(9)).verdict == .next(after: .seconds(1)))
        let late = putOff(after: .seconds(10))
        #expect(late.escalates && late.state.escalated == event.seq)
        #expect(late.verdict == .next(after: .seconds(4)))
        // Long past, so it is told again: it was accepted, or the fallback told, when it was new.
        #expect(!putOff(after: .seconds(71)).escalates)
        let failing = LaneTrouble(failures: 3, since: event.polledAt)
        #expect(putOff(after: .seconds(1), trouble: failing).signal == .hold(.zero))
        let open = LaneTrouble(failures: LaneSignal.failuresMax, since: event.polledAt)
        #expect(putOff(after: .seconds(1), trouble: open).signal == .hold(.seconds(4)))
    }
}

extension DeliveryHandlerTests {
    @Test("an attempt beside too many slow ones of its account is put off, and counts for nothing")
    func putOff() async throws {
        try await record(["a"])
        let channel = HangingChannel()
        let handler = DeliveryHandler(
            store: store,
            channels: [channel],
            places: 2,
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
        #expect(put.change.lastError?.contains("slow to answer") == true)
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

/// Tells of each attempt, and lets it wait until it is cancelled.
private struct HangingChannel: DeliveryChannel {
    let schemes: Set<String> = ["https"]
    let timeout = Duration.seconds(10)
    let schedule = RetrySchedule.webhook
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init() { (arrivals, arrival) = AsyncStream.makeStream() }

    func wants(_ event: Event) -> Bool { true }

    func deliver(_ event: Event, to target: DeliveryTarget, attempt: Int) async -> AttemptResult {
        arrival.yield()
        // Cancelled, which is what ends it.
        try? await Task.sleep(for: .seconds(60))
        return .failed("cut", after: nil)
    }
}
