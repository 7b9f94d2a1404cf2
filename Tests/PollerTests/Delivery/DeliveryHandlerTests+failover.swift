import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

/// Payments whose last events a failover has lost, and which were then recorded again, seconds later.
extension DeliveryHandlerTests {
    /// Statuses that were delivered, then lost, and the statuses recorded in their place.
    private struct Loss: Sendable {
        let delivered: [String]
        let recorded: [String]
        let sent: [Int]
        /// The number of the first events that were not lost.
        var kept = 0
    }

    private static let losses = [
        // The newest event is equal, one before it is not.
        Loss(delivered: ["a", "b", "c"], recorded: ["a", "x", "c"], sent: [2, 3]),
        // An accepted event follows the first different one.
        Loss(delivered: ["a", "b", "c", "d"], recorded: ["a", "x", "c", "y"], sent: [2, 3, 4]),
        // The log is still shorter than what was delivered.
        Loss(delivered: ["a", "b", "c"], recorded: ["a", "x"], sent: [2]),
        Loss(delivered: ["a", "b", "c"], recorded: ["a", "x", "c", "d"], sent: [2, 3, 4]),
        // The recipient has all of them already.
        Loss(delivered: ["a", "b", "c"], recorded: ["a", "b", "c"], sent: []),
        Loss(delivered: ["a", "b", "c"], recorded: ["a", "b"], sent: []),
        Loss(delivered: ["a", "b", "c"], recorded: ["a", "b", "c", "d"], sent: [4]),
        // Unwanted events have no attempts.
        Loss(delivered: ["unwanted", "b", "c"], recorded: ["unwanted", "b", "x"], sent: [3]),
        Loss(delivered: ["unwanted"], recorded: ["unwanted", "unwanted"], sent: []),
        // The log has lost its first events, too, because it keeps a hundred.
        Loss(delivered: many, recorded: many, sent: [], kept: 100),
        Loss(delivered: many, recorded: many + ["d"], sent: [104], kept: 100),
        Loss(
            delivered: many,
            recorded: many.dropLast(2) + ["x", "102"],
            sent: [102, 103],
            kept: 100
        ),
    ]

    private static let many = (0..<103).map(String.init)

    @Test("after a failover every event is sent that the recipient has not got", arguments: losses)
    private func lost(_ loss: Loss) async throws {
        let deliveries = MemoryDeliveryQueue(time: VirtualTime())
        try await record(loss.delivered)
        let before = try await sent(deliveries)
        #expect(before == loss.delivered.suffix(100).filter { $0 != "unwanted" })
        let later = VirtualTime()
        let after = DeliveryHandlerTests(store: MemoryStore(time: later))
        try await after.record(Array(loss.recorded.prefix(loss.kept)))
        later.advance(by: .seconds(5))
        try await after.record(Array(loss.recorded.dropFirst(loss.kept)))
        #expect(try await after.sent(deliveries) == loss.sent.map { loss.recorded[$0 - 1] })
        // The next event follows as usual, and nothing is repeated.
        let lease = try #require(try await after.claim())
        let event = Event(lease.item, status: SourceStatus(unchecked: "end"), polledAt: later.now)
        let change = WatchChange(state: WatchState(status: event.status), event: event)
        _ = try await after.store.commit([
            Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
        ])
        #expect(try await after.sent(deliveries) == ["end"])
    }

    @Test(
        "after a failover no event is sent in whose place the recipient has got a newer one",
        arguments: [["c"], ["x"], ["x", "c"], ["c", "d"]]
    )
    func replaced(_ recorded: [String]) async throws {
        let time = VirtualTime()
        let deliveries = MemoryDeliveryQueue(time: time)
        try await record(["a", "b", "c"])
        time.advance(by: .seconds(3600))
        let relay = RecordingChannel(isSuperseding: true)
        relay.script([.failed("not now")])
        #expect(try await sent(deliveries, by: relay) == ["a"])
        time.advance(by: .seconds(3600))
        #expect(try await sent(deliveries, by: relay) == ["a", "c"])
        let storeTime = VirtualTime()
        let after = DeliveryHandlerTests(store: MemoryStore(time: storeTime))
        try await after.record(["a", "b"])
        storeTime.advance(by: .seconds(7300))
        try await after.record(recorded)
        let expected = recorded.filter { recorded.first != "c" || $0 != "c" }
        #expect(try await after.sent(deliveries) == expected)
    }

    @Test("numbers of old attempts say nothing about a new watch of the same source")
    func newWatch() async throws {
        let deliveries = MemoryDeliveryQueue(time: VirtualTime())
        try await record(["a", "b", "c"])
        #expect(try await sent(deliveries) == ["a", "b", "c"])
        let mark = DeliveryMark(url: try NotifyURL("https://a.example/hook"), watch: key)
        let partition = deliveries.id(of: mark.endpoint, key).partition
        while try await deliveries.trimAttempts(partition: partition, retention: .zero) {}
        let later = VirtualTime()
        later.advance(by: .seconds(36 * 86_400))
        let after = DeliveryHandlerTests(store: MemoryStore(time: later))
        try await after.record(["a"])
        #expect(try await after.sent(deliveries) == ["a"])
    }

    /// Sends what is due like a notifier, and returns the statuses of all attempts.
    private func sent(
        _ deliveries: MemoryDeliveryQueue,
        by channel: RecordingChannel = RecordingChannel { $0.status?.description != "unwanted" }
    ) async throws -> [String] {
        let handler = DeliveryHandler(
            store: store,
            deliveries: deliveries,
            channels: [channel],
            logger: Sample.quiet
        )
        let mark = DeliveryMark(url: try NotifyURL("https://a.example/hook"), watch: key)
        try await deliveries.mark([mark])
        for _ in 0..<250 {
            let request = ClaimRequest(
                partition: deliveries.id(of: mark.endpoint, key).partition,
                lease: .seconds(60)
            )
            guard let lease = try await deliveries.claim(request).leases.first else { break }
            let decision = await handler.handle(LeasedItem(lease: lease, elapsed: { .zero }))
            let done = try #require(decision)
            _ = try await deliveries.commit([
                Commit(ref: lease.ref, verdict: done.verdict, change: done.change)
            ])
        }
        return channel.attempts.map { $0.event.status?.description ?? "" }
    }
}
