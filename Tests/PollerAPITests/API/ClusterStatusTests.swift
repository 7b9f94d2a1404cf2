import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import Synchronization
import Testing

@testable import PollerAPI

@Suite("Cached cluster status")
struct ClusterStatusTests {
    /// Lanes whose listing takes time, as in a store with many lanes.
    ///
    /// A class, because test and cache share its count.
    private final class SlowLanes: LaneControl {
        let clock: ManualClock
        let count: Int
        let takes: Duration
        private let walks = Mutex(0)

        var looks: Int { walks.withLock { $0 } }

        init(_ count: Int, clock: ManualClock, takes: Duration) {
            self.count = count
            self.clock = clock
            self.takes = takes
        }

        func partition(of lane: LaneID) -> Int { 0 }

        func lanes(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<LaneReport> {
            let start = cursor.flatMap { Int($0) } ?? 0
            if start == 0 {
                walks.withLock { $0 += 1 }
                clock.advance(by: takes)
            }
            let end = min(start + limit, count)
            let lanes = (start..<end).map { Self.lane($0) }
            return ListPage(items: lanes, next: end < count ? "\(end)" : nil)
        }

        private static func lane(_ number: Int) -> LaneReport {
            LaneReport(
                LaneID(account: AccountID(unchecked: "a\(number)"), kind: .source),
                isPaused: true,
                now: VirtualTime.start
            )
        }

        func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport? { nil }
        func pause(_ lane: LaneID) async throws(StoreError) -> LaneHold { LaneHold(nil) }
        func resume(_ lane: LaneID) async throws(StoreError) -> LaneHold { LaneHold(nil) }
        func limit(
            _ lane: LaneID,
            to limit: LaneLimit?,
            instead known: LaneLimitVersion?
        ) async throws(StoreError) -> Bool { true }
    }

    private static func rig(
        lanes count: Int,
        takes: Duration
    ) async throws -> (ClusterStatusCache, SlowLanes, ManualClock) {
        let clock = ManualClock()
        let stores = try await RedisStores(partitions: 1)
        let lanes = SlowLanes(count, clock: clock, takes: takes)
        let backend = APIBackend(
            watches: stores.watches,
            accounts: .of(stores.accounts),
            orders: stores.orders,
            deliveries: stores.deliveries,
            outbox: stores.outbox,
            lanes: lanes,
            members: stores.members,
            laneLimit: { .stripe },
            lease: .seconds(12),
            feed: LiveFeed(outbox: stores.outbox, clock: clock, logger: LiveAPI.quiet),
            endpoints: .on(stores.endpoints)
        )
        return (ClusterStatusCache(backend: backend, clock: clock), lanes, clock)
    }

    @Test("the status of few lanes is read on every request")
    func few() async throws {
        let (statusCache, lanes, _) = try await Self.rig(
            lanes: ClusterStatusCache.fewLanes,
            takes: .milliseconds(100)
        )
        for _ in 0..<3 { _ = try await statusCache.current() }
        #expect(lanes.looks == 3)
    }

    @Test("the status of many lanes is cached for 20 times its read duration")
    func many() async throws {
        let (statusCache, lanes, clock) = try await Self.rig(lanes: 600, takes: .milliseconds(100))
        _ = try await statusCache.current()
        clock.advance(by: .milliseconds(1850))
        _ = try await statusCache.current()
        #expect(lanes.looks == 1)
        clock.advance(by: .milliseconds(100))
        _ = try await statusCache.current()
        #expect(lanes.looks == 2)
    }

    @Test("the status covers all pages, and has a cursor if there are more lanes than the maximum")
    func pages() async throws {
        let (all, _, _) = try await Self.rig(lanes: 600, takes: .zero)
        let status = try await all.current()
        #expect(status.lanes.count == 600)
        #expect(status.more == nil)
        let (some, _, _) = try await Self.rig(lanes: ClusterStatus.lanesMax + 1, takes: .zero)
        let cut = try await some.current()
        #expect(cut.lanes.count == ClusterStatus.lanesMax)
        #expect(cut.more == "\(ClusterStatus.lanesMax)")
    }

    @Test("the status is read again after `forget`")
    func forgets() async throws {
        let (statusCache, lanes, _) = try await Self.rig(lanes: 600, takes: .milliseconds(100))
        _ = try await statusCache.current()
        await statusCache.forget()
        _ = try await statusCache.current()
        #expect(lanes.looks == 2)
    }
}
