import JSONText
import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerRedis

/// `Retention` reads the logs of closed watches in several parts if they are long.
@Suite("Pages of long logs")
struct CompactionPagesTests {
    /// Each log has one event of 60 KB, which packing halves, and one without an object.
    ///
    /// `apart` is the time between the ends of two watches, in ms: all that end in one millisecond are read together.
    /// `parts` is the number of parts in which the logs are read.
    @Test("logs of more than a megabyte are read in parts", arguments: [(10, 2), (0, 1)])
    func long(apart: Int, parts: Int) async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, partitions: 1)
            let store = harness.store
            let keys = (0..<50).map { WatchKey("src_\($0)", of: .main) }
            _ = try await store.enqueue(try keys.map { try NewWatch(key: $0) })
            let leases = try await store.claim(ClaimRequest(partition: 0, limit: 50)).leases
            try #require(leases.count == keys.count)
            for lease in leases {
                #expect(try await store.commit([commit(of: lease)]) == [.done])
                #expect(try await store.cancel(lease.item.key))
                try await harness.advance(by: .milliseconds(apart))
            }
            try await harness.advance(by: .seconds(60))
            var count = 1
            while try await store.removeBodies(partition: 0, retention: .seconds(1)) { count += 1 }
            #expect(count == parts)
            for key in keys {
                let events = try await store.events(of: key, after: 0, limit: 9)
                #expect(events.count == 2 && events.allSatisfy { $0 == $0.withoutBody })
            }
        }
    }

    private func commit(of lease: Lease<Watch>) -> Commit<WatchChange> {
        var random = SeededGenerator(seed: 7)
        let text = (0..<3750).map { _ in String(random.next(), radix: 16) }.joined()
        let event = Event(
            lease.item,
            status: .chargeable,
            object: RawJSON(unchecked: #"{"text":"\#(text)"}"#),
            polledAt: lease.claimedAt
        )
        return Commit(
            ref: lease.ref,
            verdict: .next(after: .seconds(30)),
            change: WatchChange(state: lease.item.state, event: event)
        )
    }
}
