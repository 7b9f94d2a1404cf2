import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("Enqueuer")
struct EnqueuerTests {
    private let time = VirtualTime()

    @Test("an endpoint that joins a watch with events is due at once, and a first endpoint is not")
    func lateJoiner() async throws {
        let store = MemoryStore(time: time)
        let deliveries = MemoryDeliveryQueue(time: time)
        let enqueuer = Enqueuer(watches: store, deliveries: deliveries)
        let key = WatchKey("src_1")
        let first = try NewWatch(key: key, notify: [NotifyURL("https://a.example/")])
        #expect(try await enqueuer.enqueue([first]).map(\.outcome) == [.created])
        #expect(try await deliveries.stats().pending == 0)

        try await record("pending", of: key, in: store)
        let second = try NewWatch(key: key, notify: [NotifyURL("https://b.example/")])
        #expect(try await enqueuer.enqueue([second]).map(\.outcome) == [.joined])
        #expect(try await deliveries.stats().pending == 1)
    }

    private func record(_ status: String, of key: WatchKey, in store: MemoryStore) async throws {
        let claim = try await store.claim(
            ClaimRequest(
                partition: store.partition(of: key.lane),
                limit: 1,
                owner: OwnerID(unchecked: "A")
            )
        )
        let lease = try #require(claim.leases.first)
        let status = SourceStatus(unchecked: status)
        let event = Event(lease.item, status: status, polledAt: lease.claimedAt)
        let change = WatchChange(state: WatchState(status: status), event: event)
        let commit = Commit(ref: lease.ref, verdict: .next(after: .seconds(60)), change: change)
        #expect(try await store.commit([commit]) == [.done])
    }
}
