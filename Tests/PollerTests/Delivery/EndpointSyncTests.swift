import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerQueue

@Suite("EndpointSync", .timeLimit(.minutes(5)))
struct EndpointSyncTests {
    @Test("an unavailable partition delays the sync once, and the others are synchronised")
    func syncWithUnreachablePartition() async throws {
        let time = VirtualTime()
        let store = MemoryEndpointStore(time: time)
        let queue = MemoryDeliveryQueue(time: time)
        let clock = ManualClock()
        let lanes = UnreachableLanes(base: queue, clock: clock)
        let sync = EndpointSync(
            directory: EndpointDirectory(store: store, logger: Sample.quiet),
            lanes: lanes,
            clock: clock,
            logger: Sample.quiet
        )
        var ids: [EndpointID] = []
        for number in 0..<40 {
            let endpoint = try EndpointTests.endpoint("e\(number)")
            _ = try await store.create(endpoint, request: nil)
            try await store.disable(endpoint.id, reason: "x")
            ids.append(endpoint.id)
        }
        func paused() async throws -> [EndpointID] {
            var found: [EndpointID] = []
            for id in ids {
                let report = try await queue.lane(LaneID(endpoint: id))
                found += report?.isPaused == true ? [id] : []
            }
            return found
        }
        let there = ids.filter { queue.partition(of: LaneID(endpoint: $0)) != 1 }
        lanes.away.change { $0 = [1] }
        await sync.align(isReloading: false)
        #expect(try await paused() == there && there.count < ids.count)
        #expect(lanes.waits.value == 1)
        lanes.away.change { $0 = [] }
        await sync.align(isReloading: false)
        #expect(try await paused() == ids)
    }
}

/// Lanes in partitions that can be made unavailable.
private struct UnreachableLanes: LaneControl {
    let base: MemoryDeliveryQueue
    let clock: ManualClock
    let away = Shared<Set<Int>>([])
    let waits = Shared(0)

    private func reach(_ lane: LaneID) throws(StoreError) {
        guard away.value.contains(partition(of: lane)) else { return }
        waits.change { $0 += 1 }
        clock.advance(by: .seconds(5))
        throw .unavailable("no answer in time")
    }

    func partition(of lane: LaneID) -> Int { base.partition(of: lane) }

    func lanes(limit: Int, cursor: String?) async throws(StoreError) -> ListPage<LaneReport> {
        try await base.lanes(limit: limit, cursor: cursor)
    }

    func lane(_ lane: LaneID) async throws(StoreError) -> LaneReport? {
        try reach(lane)
        return try await base.lane(lane)
    }

    func pause(_ lane: LaneID) async throws(StoreError) -> LaneHold {
        try reach(lane)
        return try await base.pause(lane)
    }

    func resume(_ lane: LaneID) async throws(StoreError) -> LaneHold {
        try reach(lane)
        return try await base.resume(lane)
    }

    func limit(
        _ lane: LaneID,
        to limit: LaneLimit?,
        instead known: LaneLimitVersion?
    ) async throws(StoreError) -> Bool {
        try reach(lane)
        return try await base.limit(lane, to: limit, instead: known)
    }
}
