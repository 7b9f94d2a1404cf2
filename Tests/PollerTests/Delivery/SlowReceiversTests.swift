import PollerTesting
import Testing

@testable import Poller

@Suite("Slow receivers of an account")
struct SlowReceiversTests {
    let slow = SlowReceivers(places: 16)
    let acme = SlowReceivers.Party(account: AccountID(unchecked: "acme"), channel: "http")
    let rival = SlowReceivers.Party(account: AccountID(unchecked: "rival"), channel: "http")

    /// How many of `count` attempts at once may begin at an instant.
    func begin(_ count: Int, _ party: SlowReceivers.Party, at ms: Int64) -> Int {
        (0..<count).count { _ in slow.begin(party, now: Timestamp(ms: ms)) == nil }
    }

    @Test("hold half of the places, and the next account half of what they leave")
    func halves() {
        #expect(begin(8, acme, at: 0) == 8)
        // None of them is slow yet, so nobody is put off.
        #expect(begin(8, acme, at: 999) == 8)
        for _ in 0..<8 { slow.end(acme, began: Timestamp(ms: 999)) }
        #expect(begin(1, acme, at: 1000) == 0)
        // Now that most are slow, nobody else may take more than a quarter before it is known how they are.
        #expect(begin(5, rival, at: 1000) == 4)
        #expect(begin(1, rival, at: 2000) == 0)
        let third = SlowReceivers.Party(account: AccountID(unchecked: "third"), channel: "http")
        #expect(begin(3, third, at: 2000) == 3)
        #expect(begin(1, third, at: 3000) == 0)
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
        #expect(begin(8, acme, at: 0) == 8)
        #expect(begin(1, acme, at: 5000) == 0)
        slow.end(acme, began: Timestamp(ms: 0))
        #expect(begin(2, acme, at: 5000) == 2)
        // A clock that was set back finds them in order.
        #expect(begin(1, acme, at: 4000) == 1)
        #expect(begin(1, acme, at: 5000) == 0)
    }

    @Test("are as many as an account may have at least, in a notifier with few places")
    func few() {
        let slow = SlowReceivers(places: 1)
        #expect(slow.begin(acme, now: Timestamp(ms: 0)) == nil)
        let waits = (0..<200).map { _ in slow.begin(acme, now: Timestamp(ms: 1000)) ?? .zero }
        #expect(waits.allSatisfy { $0 >= .seconds(3) && $0 < .seconds(13) })
        // They come back one after the other.
        #expect(Set(waits).count == 93)
        #expect(slow.begin(rival, now: Timestamp(ms: 1000)) == nil)
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
        #expect(wait >= .seconds(3) && wait < .seconds(13))
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
