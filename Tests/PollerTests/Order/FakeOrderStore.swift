import PollerIdentity
import PollerQueue
import PollerTesting
import Synchronization

@testable import PollerWatches

/// An in-memory order store that records events.
///
/// It is a class because the order service and the test share it. The conformance suite "orders" tests the Redis
/// store.
final class FakeOrderStore: OrderStore {
    private let partitions: Int
    private let kept = Mutex<[OrderKey: Order]>([:])
    private let recorded = Mutex<[Event]>([])
    private let beforeRead: @Sendable () async throws(StoreError) -> Void

    /// Creates an empty store with as many partitions as the store of ``WorkerRig``.
    ///
    /// `beforeRead` may fail a read.
    init(
        partitions: Int = 2,
        beforeRead: @escaping @Sendable () async throws(StoreError) -> Void = {}
    ) {
        self.partitions = partitions
        self.beforeRead = beforeRead
    }

    var events: [Event] { recorded.withLock(\.self) }

    func partition(of lane: LaneID) -> Int { lane.partition(of: partitions) }

    func order(_ key: OrderKey) async throws(StoreError) -> Order? {
        try await beforeRead()
        return kept.withLock { $0[key] }
    }

    func store(
        _ order: Order,
        over version: Int,
        recording events: [Event]
    ) async throws(StoreError) -> Bool {
        let isStored = kept.withLock { kept in
            let known = kept[order.key]
            guard known?.version ?? 0 == version else { return false }
            kept[order.key] = Order(
                stored: order.stored,
                key: order.key,
                createdAt: known?.createdAt ?? order.createdAt ?? VirtualTime.start,
                seq: events.last?.seq ?? known?.seq ?? 0
            )
            return true
        }
        if isStored { recorded.withLock { $0 += events } }
        return isStored
    }

    func orders(_ query: OrderQuery) async throws(StoreError) -> ListPage<Order> {
        ListPage(items: kept.withLock { Array($0.values) }, next: nil)
    }
}
