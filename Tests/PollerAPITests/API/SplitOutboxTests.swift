import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches
import Testing

@testable import PollerAPI

/// Event cursors from before a store was split into more partitions.
@Suite("Recorded events after a partition split")
struct SplitOutboxTests {
    /// An outbox of two partitions, the second split from the first.
    private struct Split: Outbox {
        let second: OutboxBounds
        let partitions = 2
        let basePartitions = 1

        func bounds() async throws(StoreError) -> [OutboxBounds] {
            [OutboxBounds(oldest: "9-0", newest: "9-0", trimmed: "0-0"), second]
        }

        func entries(
            partition: Int,
            after position: String,
            limit: Int
        ) async throws(StoreError) -> [OutboxEntry] { [] }

        func read(
            partition: Int,
            consumer: OwnerID,
            idle: Duration,
            limit: Int
        ) async throws(StoreError) -> OutboxRead { OutboxRead(fresh: [], abandoned: []) }

        func handedOver(
            partition: Int,
            _ ids: [String]
        ) async throws(StoreError) -> [OutboxEntry] { [] }

        func hold(
            partition: Int,
            consumer: OwnerID,
            _ entries: [PendingEntry]
        ) async throws(StoreError) -> Set<String> { [] }

        func positions(
            partition: Int,
            of ids: [String]
        ) async throws(StoreError) -> [String: FanOutPosition] { [:] }

        func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError) {}

        func acknowledgedUntil(partition: Int) async throws(StoreError) -> Timestamp {
            Timestamp(ms: 0)
        }

        func references(
            behind cursors: [OutboxReadPosition],
            limit: Int
        ) async throws(StoreError) -> [[OutboxReference]] { cursors.map { _ in [] } }

        func events(
            of references: [OutboxReference]
        ) async throws(StoreError) -> [PollerWatches.Event?] {
            references.map { _ in nil }
        }

        func trim(partition: Int, retention: Duration) async throws(StoreError) {}

        func arrivals() -> AsyncStream<Int?> { AsyncStream { nil } }
    }

    private func page(after text: String, _ second: OutboxBounds) async throws -> OutboxPage {
        let outbox = Split(second: second)
        let reading = OutboxReading(
            outbox: outbox,
            limit: 10,
            filter: try EventFilter(sources: [], accounts: .all, types: []),
            seesAllAccounts: true
        )
        let cursor = try #require(OutboxCursor(text, partitions: outbox.partitions))
        return try await reading.page(after: cursor)
    }

    @Test("trimmed events of a new partition are reported as a gap")
    func trimmed() async throws {
        let position = OutboxCursor(positions: [.init(ms: 9, n: 0)]).text
        let gone = OutboxBounds(oldest: "0-0", newest: "20-0", trimmed: "20-0")
        #expect(try await page(after: position, gone).hasGap)
        // A client that polled in between has a position in the new partition, which was still empty.
        let polled = OutboxCursor(positions: [.init(ms: 9, n: 0), .start]).text
        #expect(try await page(after: polled, gone).hasGap)
        let kept = OutboxBounds(oldest: "10-0", newest: "20-0", trimmed: "0-0")
        #expect(try await !page(after: position, kept).hasGap)
    }

    @Test("an empty new partition has no gap")
    func untouched() async throws {
        let position = OutboxCursor(positions: [.init(ms: 9, n: 0)]).text
        let empty = OutboxBounds(oldest: "0-0", newest: "0-0", trimmed: "0-0")
        let page = try await page(after: position, empty)
        #expect(!page.hasGap)
        #expect(page.next.positions == [.init(ms: 9, n: 0), .start])
    }
}
