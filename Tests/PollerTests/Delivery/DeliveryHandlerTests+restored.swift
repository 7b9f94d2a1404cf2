import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

/// Payments that were restored from an archive.
extension DeliveryHandlerTests {
    @Test("events delivered before a payment was archived are not sent again after a restore")
    func restored() async throws {
        let archive = DeliveryHandlerTests()
        try await archive.record(["pending", "chargeable"])
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
        let silent = RecordingChannel()
        _ = try await handle(silent)
        #expect(silent.attempts.isEmpty)
        try await record(["consumed"])
        let channel = RecordingChannel()
        _ = try await handle(channel)
        #expect(channel.attempts.map(\.event.seq) == [3])
    }
}
