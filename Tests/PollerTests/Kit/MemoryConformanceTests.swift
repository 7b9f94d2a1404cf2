import Poller
import PollerTesting
import Testing

@Suite("the in-memory stores are what the seams say")
struct MemoryConformanceTests {
    @Test("behaves as every store must", arguments: QueueConformance.allCases)
    func conforms(_ behaviour: ConformanceCase) async throws {
        let failure = await behaviour.failure(on: MemoryHarness())
        #expect(failure == nil)
    }

    @Test("the suite finds a store that is wrong", arguments: QueueFlaw.allCases)
    func findsFlaw(_ flaw: QueueFlaw) async throws {
        // A wake that never comes is waited for in real time: too long for a mistake by design.
        let cases = QueueConformance.allCases.filter { !$0.name.contains("a wake comes") }
        var noticed: String?
        for behaviour in cases where noticed == nil {
            noticed = await behaviour.failure(on: MemoryHarness(flaws: [flaw]))
        }
        #expect(noticed != nil)
    }

    @Test("the suite finds a registry that is wrong", arguments: EndpointFlaw.allCases)
    func findsFlaw(_ flaw: EndpointFlaw) async throws {
        var noticed: String?
        for behaviour in QueueConformance.allCases where noticed == nil {
            noticed = await behaviour.failure(on: MemoryHarness(endpointFlaws: [flaw]))
        }
        #expect(noticed != nil)
    }

    @Test("no two cases have the same name")
    func namesDiffer() {
        let names = QueueConformance.allCases.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 180)
    }
}

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
