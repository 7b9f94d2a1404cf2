import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

/// Payments that were restored from an archive.
extension DeliveryHandlerTests {
    /// Restores the payment with an event for each of these statuses from an archive.
    func restore(_ statuses: [String]) async throws {
        let archive = DeliveryHandlerTests()
        try await archive.record(statuses)
        let watch = try #require(try await archive.store.snapshot(of: key)).watch
        _ = try await store.restore([
            ArchivedWatch(
                watch,
                closed: .settled,
                lastError: nil,
                notify: [],
                metadata: "",
                events: try await archive.store.events(of: key, after: 0, limit: 9)
            )
        ])
    }

    @Test("events delivered before a payment was archived are not sent again after a restore")
    func restored() async throws {
        try await restore(["pending", "chargeable"])
        let silent = RecordingChannel()
        _ = try await handle(silent)
        #expect(silent.attempts.isEmpty)
        try await record(["consumed"])
        let channel = RecordingChannel()
        _ = try await handle(channel)
        #expect(channel.attempts.map(\.event.seq) == [3])
    }

    @Test("a fallback does not get a restored event, but a dead letter is sent on request")
    func forcedRestored() async throws {
        try await restore(["pending", "chargeable"])
        let channel = RecordingChannel()
        let settled = try #require(try await handle(channel, DeliveryState(again: [2])))
        #expect(channel.attempts.isEmpty && settled.change.state == DeliveryState())
        #expect(settled.verdict == .next(after: .zero))
        _ = try await handle(channel, DeliveryState(cursor: 2, dead: [2], again: [2]))
        #expect(channel.attempts.map(\.event.seq) == [2])
    }
}
