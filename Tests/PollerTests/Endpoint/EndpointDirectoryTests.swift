import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerQueue
@testable import PollerWatches

@Suite("EndpointDirectory", .timeLimit(.minutes(5)))
struct EndpointDirectoryTests {
    let time = VirtualTime()
    let store: MemoryEndpointStore
    let directory: EndpointDirectory

    init() {
        store = MemoryEndpointStore(time: time, page: 3)
        directory = EndpointDirectory(store: store, logger: Sample.quiet)
    }

    @discardableResult
    func create(
        _ host: String,
        account: String = "acct_a",
        scope: EndpointScope = .everything
    ) async throws -> EndpointID {
        let endpoint = try EndpointTests.endpoint(host, account: account, scope: scope)
        _ = try await store.create(endpoint, request: nil)
        return endpoint.id
    }

    func interested(_ event: Event) async throws -> [EndpointID] {
        try await directory.refresh()
        return directory.interested(in: event).endpoints.sorted { $0.description < $1.description }
    }

    @Test("recipients are exact right after endpoints are created, changed or removed")
    func exact() async throws {
        let event = EndpointTests.event()
        #expect(try await interested(event) == [])
        let first = try await create("a")
        try await create("other", account: "acct_b")
        let named = try await create("b", scope: EndpointScope(sources: ["src_1", "src_9"]))
        try await create("c", scope: EndpointScope(sources: ["src_9"]))
        try await create("d", scope: EndpointScope(types: ["charge.*"]))
        #expect(try await interested(event) == [first, named])
        let elsewhere = try EndpointScope(sources: ["src_9"])
        _ = try await store.update(named) { endpoint, _ in endpoint.scope = elsewhere }
        #expect(try await interested(event) == [first])
        #expect(try await interested(EndpointTests.event(source: "src_9")).count == 3)
        _ = try await store.remove(first)
        #expect(try await interested(event) == [])
    }

    @Test("a disabled endpoint collects events for a day, so that it can catch up")
    func disabled() async throws {
        let id = try await create("a")
        try await store.disable(id, reason: "x")
        #expect(try await interested(EndpointTests.event()) == [id])
        time.advance(by: .seconds(86_401))
        _ = try await store.update(id) { endpoint, now in
            endpoint.state = .disabled(reason: "x", at: VirtualTime.start + .seconds(-86_400))
        }
        #expect(try await interested(EndpointTests.event()) == [])
    }

    @Test("the registry is read page by page, and completely again after it was replaced")
    func reset() async throws {
        for number in 0..<8 { try await create("n\(number)") }
        #expect(try await interested(EndpointTests.event()).count == 8)
        let other = MemoryEndpointStore(time: VirtualTime(start: Timestamp(ms: 1000)), page: 3)
        for number in 0..<5 {
            let endpoint = try EndpointTests.endpoint("m\(number)")
            _ = try await other.create(endpoint, request: nil)
        }
        let swapped = SwappedStore(store)
        let directory = EndpointDirectory(store: swapped, logger: Sample.quiet)
        try await directory.refresh()
        #expect(directory.interested(in: EndpointTests.event()).endpoints.count == 8)
        swapped.current.change { $0 = other }
        try await directory.refresh()
        #expect(directory.interested(in: EndpointTests.event()).endpoints.count == 5)
    }

    @Test("concurrent refreshes read the registry once")
    func atOnce() async throws {
        for number in 0..<8 { try await create("n\(number)") }
        let slow = SwappedStore(store)
        let directory = EndpointDirectory(store: slow, logger: Sample.quiet)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { try? await directory.refresh() } }
        }
        #expect(directory.interested(in: EndpointTests.event()).endpoints.count == 8)
        #expect(slow.pages.value == 3)
    }

    @Test("an endpoint missing from the copy is looked up in the store before it counts as deleted")
    func unknown() async throws {
        try await directory.refresh()
        let id = try await create("a")
        #expect(directory.known(id) == nil)
        #expect(try await directory.endpoint(id)?.id == id)
        #expect(try await directory.endpoint(EndpointID(unchecked: "ep_none")) == nil)
    }

    @Test("an endpoint that this release does not understand is not a removed one")
    func foreign() async throws {
        let id = try await create("a")
        let foreign = ForeignStore(base: store, ids: Shared([]))
        let directory = EndpointDirectory(store: foreign, logger: Sample.quiet)
        try await directory.refresh()
        #expect(try await directory.endpoint(id)?.id == id)
        #expect(directory.takeChanges().map(\.id) == [id])
        foreign.ids.change { $0 = [id] }
        _ = try await store.update(id) { endpoint, _ in endpoint.coalesces = true }
        try await directory.refresh()
        await #expect(throws: StoreError.self) { try await directory.endpoint(id) }
        // The sync would dismiss the dead letters of a removed endpoint.
        #expect(directory.takeChanges().isEmpty)
        // A newer release sends those events that it wants.
        #expect(directory.interested(in: EndpointTests.event()).endpoints == [id])
        #expect(directory.interested(in: EndpointTests.event(account: "acct_b")).endpoints.isEmpty)
        let key = Sample.key()
        let state = DeliveryState(dead: [1])
        let delivery = Delivery(endpoint: id, url: nil, watch: key, state: state)
        let watches = MemoryStore(time: time)
        let resolver = DeliveryResolver(store: watches, directory: directory)
        guard case .instead(let waiting) = await resolver.resolve(delivery) else {
            return fail("it has no target")
        }
        #expect(waiting.verdict == .next(after: .seconds(60)) && waiting.signal == .hold(.zero))
        #expect(waiting.change.state == delivery.state && waiting.prefersOtherProcesses)
        foreign.ids.change { $0 = [] }
        _ = try await store.update(id) { endpoint, _ in endpoint.coalesces = false }
        try await directory.refresh()
        #expect(try await directory.endpoint(id)?.id == id)
        #expect(directory.takeChanges().map(\.id) == [id])
        #expect(directory.interested(in: EndpointTests.event()).endpoints == [id])
    }

    @Test("an endpoint that this release does not understand collects events for a day")
    func foreignForDays() async throws {
        let id = try await create("a")
        let foreign = ForeignStore(base: store, ids: Shared([id]))
        let directory = EndpointDirectory(store: foreign, logger: Sample.quiet)
        try await directory.refresh()
        for (age, isMarked) in [(Duration.seconds(86_399), true), (.seconds(86_400), false)] {
            let event = EndpointTests.event(polledAt: VirtualTime.start + age)
            #expect(directory.interested(in: event).endpoints.contains(id) == isMarked)
        }
        // One that is removed gets no more events.
        _ = try await store.remove(id)
        try await directory.refresh()
        #expect(directory.interested(in: EndpointTests.event()).endpoints.isEmpty)
    }

    @Test("the sync pauses, limits, resumes and removes lanes to match the endpoints")
    func sync() async throws {
        let queue = MemoryDeliveryQueue(time: time)
        let sync = EndpointSync(
            directory: directory,
            lanes: queue,
            clock: ManualClock(),
            logger: Sample.quiet
        )
        let id = try await create("a")
        let lane = LaneID(endpoint: id)
        let limit = LaneLimit(ratePerSecond: 4, burst: 2, inFlightMax: 3)
        _ = try await store.update(id) { endpoint, now in
            endpoint.limit = limit
            endpoint.state = .disabled(reason: "x", at: now)
        }
        await sync.align(isReloading: false)
        var report = try #require(try await queue.lane(lane))
        #expect(report.isPaused)
        #expect(report.limit == limit)
        _ = try await store.enable(id)
        await sync.align(isReloading: false)
        report = try #require(try await queue.lane(lane))
        #expect(!report.isPaused)
        // The next full reload notices a change that a failover has undone.
        try await queue.pause(lane)
        await sync.align(isReloading: false)
        #expect(try await queue.lane(lane)?.isPaused == true)
        await sync.align(isReloading: true)
        #expect(try await queue.lane(lane)?.isPaused == false)
        _ = try await store.remove(id)
        await sync.align(isReloading: false)
        #expect(try await queue.lane(lane)?.limit == nil)
    }

    @Test("removing an endpoint clears its dead letters, failing deliveries and open circuit")
    func cleared() async throws {
        let queue = MemoryDeliveryQueue(time: time)
        let sync = EndpointSync(
            directory: directory,
            lanes: queue,
            deliveries: queue,
            clock: ManualClock(),
            logger: Sample.quiet
        )
        let ids = [try await create("gone"), try await create("stays")]
        await sync.align(isReloading: true, isFirst: true)
        for id in ids {
            try await queue.give(id, "src_dead", DeliveryState(cursor: 2, dead: [1, 2]), .setAside)
            let failing = DeliveryState(cursor: 1, failures: 1, attempts: 3, dead: [1])
            try await queue.give(id, "src_failing", failing, .next(after: .seconds(3600)))
            for _ in 0..<10 {
                try await queue.give(
                    id,
                    "src_down",
                    DeliveryState(failures: 1),
                    .next(after: .zero),
                    .failing
                )
            }
            #expect(try await queue.lane(LaneID(endpoint: id))?.circuit == .open)
        }
        _ = try await store.remove(ids[0])
        await sync.align(isReloading: false)
        func listed(_ state: DeliverySnapshot.State, _ id: EndpointID) async throws -> Int {
            try await queue.deliveries(DeliveryQuery(endpoint: id, state: state)).items.count
        }
        #expect(try await listed(.dead, ids[0]) == 0)
        let report = try #require(try await queue.lane(LaneID(endpoint: ids[0])))
        #expect(report.overdue == 2 && report.heldUntil == nil && report.circuit == .closed)
        #expect(try await listed(.dead, ids[1]) == 2, "the other's are what they were")
        #expect(try await queue.lane(LaneID(endpoint: ids[1]))?.circuit == .open)

        // A process that starts later has not observed the removal.
        try await queue.give(ids[0], "src_late", DeliveryState(cursor: 1, dead: [1]), .setAside)
        let later = EndpointSync(
            directory: EndpointDirectory(store: store, logger: Sample.quiet),
            lanes: queue,
            deliveries: queue,
            clock: ManualClock(),
            logger: Sample.quiet
        )
        await later.align(isReloading: true, isFirst: true)
        #expect(try await listed(.dead, ids[0]) == 0)
    }
}

/// A store of which some endpoints are not understood, as if a newer release had written them.
private struct ForeignStore: ForwardingEndpointStore {
    let base: any EndpointStore
    let ids: Shared<Set<EndpointID>>

    func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges {
        let page = try await base.changes(since: version, isContinuing: isContinuing)
        let ids = ids.value
        return EndpointChanges(
            isReset: page.isReset,
            version: page.version,
            hasMore: page.hasMore,
            endpoints: page.endpoints.filter { !ids.contains($0.id) },
            removed: page.removed,
            foreign: page.endpoints.filter { ids.contains($0.id) }.map { endpoint in
                ForeignEndpoint(
                    id: endpoint.id,
                    account: endpoint.account,
                    createdAt: endpoint.createdAt,
                    updatedAt: endpoint.updatedAt
                )
            }
        )
    }
}

/// A store that is replaced by another one during use, as after a FLUSHALL.
private struct SwappedStore: ForwardingEndpointStore {
    let current: Shared<MemoryEndpointStore>
    /// The number of pages of changes that were read.
    let pages = Shared(0)

    init(_ store: MemoryEndpointStore) {
        current = Shared(store)
    }

    var base: any EndpointStore { current.value }

    func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges {
        pages.change { $0 += 1 }
        // The time of an answer, during which other callers refresh.
        for _ in 0..<20 { await Task.yield() }
        return try await base.changes(since: version, isContinuing: isContinuing)
    }
}

extension MemoryDeliveryQueue {
    /// Stores a delivery of an endpoint as an attempt would leave it.
    fileprivate func give(
        _ id: EndpointID,
        _ source: String,
        _ state: DeliveryState,
        _ verdict: Verdict,
        _ signal: LaneSignal = .fine
    ) async throws {
        let mark = DeliveryMark(endpoint: id, watch: Sample.key(source))
        try await self.mark([mark])
        let request = ClaimRequest(
            partition: partition(of: LaneID(endpoint: id)),
            limit: 10,
            lease: .seconds(60)
        )
        let leases = try await claim(request).leases
        let lease = try #require(leases.first { $0.item.watch == mark.watch })
        let commit = Commit(
            ref: lease.ref,
            verdict: verdict,
            change: DeliveryChange(state: state),
            signal: signal
        )
        #expect(try await self.commit([commit]) == [.done])
    }
}
