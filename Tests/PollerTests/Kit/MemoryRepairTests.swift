import Poller
import PollerTesting
import Testing

@Suite("the audit of the in-memory store")
struct MemoryRepairTests {
    @Test("finds what a flaw has left, mends it, and finds nothing more")
    func mends() async throws {
        let time = VirtualTime()
        let store = MemoryStore(time: time, partitions: 1, flaws: [.keepsSlotsOfEndedLeases])
        let keys = (0..<5).map {
            WatchKey(
                account: AccountID(unchecked: "acct_a"),
                source: SourceID(unchecked: "src_\($0)"),
                kind: .source
            )
        }
        _ = try await store.enqueue(keys.map { try NewWatch(key: $0) })
        let request = ClaimRequest(
            partition: 0,
            limit: 3,
            owner: OwnerID(unchecked: "AAAAAAAAAAA"),
            lease: .seconds(2),
            lane: .unlimited
        )
        for _ in 0..<2 {
            _ = try await store.claim(request)
            time.advance(by: .seconds(1))
        }
        _ = try await store.claim(request)

        let faults = try await store.audit(repairing: true)
        #expect(faults == ["acct_a/sources: 8 slots taken, 5 leases"])
        #expect(try await store.audit() == [])
        #expect(try await store.lane(keys[0].lane)?.inFlight == 5)
    }

    @Test("goes from partition to partition and knows no other cursor")
    func pages() async throws {
        let store = MemoryStore(time: VirtualTime(), partitions: 3)
        var cursors: [String?] = []
        var cursor: String?
        repeat {
            cursor = try await store.audit(after: cursor, repairing: false).next
            cursors.append(cursor)
        } while cursor != nil
        #expect(cursors == ["1", "2", nil])
        await #expect(throws: StoreError.unknownCursor) {
            try await store.audit(after: "3", repairing: false)
        }
    }
}
