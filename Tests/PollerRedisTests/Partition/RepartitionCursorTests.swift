import Foundation
import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Testing

@testable import PollerRedis

/// Positions in lists and ids of deliveries from before a repartition.
@Suite("Cursors and delivery IDs from before a split stay valid", .timeLimit(.minutes(5)))
struct RepartitionCursorTests {
    /// A list that is read page by page: the entries of a page, and its cursor.
    typealias Page = @Sendable (RedisHarness, String?) async throws -> ([String], String?)

    private static let limit = 7
    private static let endpoint = moving

    private static func watches(_ query: ListQuery) -> Page {
        { harness, cursor in
            let next = ListQuery(
                state: query.state,
                search: query.search,
                limit: limit,
                cursor: cursor
            )
            let page = try await harness.store.list(next)
            return (page.items.map { "\($0.watch.key)" }, page.next)
        }
    }

    private static func deliveries(of endpoint: EndpointID?) -> Page {
        { harness, cursor in
            let query = DeliveryQuery(endpoint: endpoint, limit: limit, cursor: cursor)
            let page = try await harness.queue.deliveries(query)
            return (page.items.map(\.id.item.description), page.next)
        }
    }

    private static let accounts: Page = { harness, cursor in
        let page = try await harness.accounts.accounts(limit: 1, cursor: cursor)
        return (page.items.map(\.description), page.next)
    }

    private static let lanes: Page = { harness, cursor in
        let page = try await harness.store.lanes(limit: 2, cursor: cursor)
        return (page.items.map(\.lane.description), page.next)
    }

    @Test("a list read across two splits is complete, and lists of single items repeat none")
    func lists() async throws {
        let all = try SearchQuery("customer=c1", keys: .standard, now: Timestamp(ms: 0))
        let found = try SearchQuery("src_777", keys: .standard, now: Timestamp(ms: 0))
        let pages: [(name: String, isOnce: Bool, page: Page)] = [
            ("watches", true, Self.watches(ListQuery())),
            ("open", true, Self.watches(ListQuery(state: .open))),
            ("closed", true, Self.watches(ListQuery(state: .closed))),
            ("deliveries of an endpoint", true, Self.deliveries(of: Self.endpoint)),
            ("deliveries", true, Self.deliveries(of: nil)),
            ("accounts", true, Self.accounts),
            ("by name", true, Self.watches(ListQuery(search: found))),
            // Positions among the items of one entry of the index are valid in one partition only.
            ("found", false, Self.watches(ListQuery(search: all))),
            ("lanes", false, Self.lanes),
        ]
        try await withRedis { client in
            let first = try await RedisHarness(client: client, former: 1, partitions: 2)
            try await first.fill()
            try await first.markDeliveries()
            let named = (0..<20).map {
                WatchKey("src_777", of: AccountID(unchecked: "acct_\($0)"))
            }
            _ = try await first.store.enqueue(named.map { try NewWatch(key: $0) })
            var wholes: [Set<String>] = []
            var listed: [[String]] = []
            var cursors: [String?] = []
            for (_, _, page) in pages {
                wholes.append(try await Self.whole(page, first))
                let (items, cursor) = try await page(first, nil)
                listed.append(items)
                cursors.append(cursor)
            }
            func goOn(_ harness: RedisHarness) async throws {
                for index in pages.indices {
                    guard let cursor = cursors[index] else { continue }
                    let (items, next) = try await pages[index].page(harness, cursor)
                    listed[index] += items
                    cursors[index] = next
                }
            }
            try await first.split([0])
            try await goOn(first)
            try await first.repartition.end()
            let half = try await StoreLayout.loadOrCreate(
                on: client,
                namespace: first.layout.namespace
            )
            let more = try await RedisRepartition.begin(half, partitions: 4, on: client)
            let second = try RedisHarness(client: client, layout: more)
            try await goOn(second)
            try await second.split([0, 1])
            while cursors.contains(where: { $0 != nil }) { try await goOn(second) }
            for (index, (name, isOnce, _)) in pages.enumerated() {
                #expect(wholes[index].count > Self.limit / 2, "\(name)")
                #expect(Set(listed[index]) == wholes[index], "\(name): an item is missing")
                if isOnce {
                    #expect(
                        listed[index].count == wholes[index].count,
                        "\(name): an item is repeated"
                    )
                }
            }
        }
    }

    @Test("deliveries are revised by their IDs from before and after a split")
    func revising() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.markDeliveries()
            let before = try await harness.queue.deliveries(
                DeliveryQuery(endpoint: Self.endpoint, limit: 500)
            ).items
            try await harness.split([0])
            let after = try await harness.queue.deliveries(
                DeliveryQuery(endpoint: Self.endpoint, limit: 500)
            ).items
            #expect(before.map(\.id.partition) != after.map(\.id.partition))
            // Read both before and after the split, as a replay does.
            let mixed = before.prefix(3) + after.suffix(3)
            let revisions = mixed.map { snapshot in
                DeliveryRevision(
                    id: snapshot.id,
                    from: snapshot.delivery.state,
                    to: DeliveryState(cursor: 0, attempts: 3)
                )
            }
            let results = try await harness.queue.revise(revisions, endingHolds: true)
            #expect(results == mixed.map { _ in .done })
            let gone = DeliveryRevision(
                id: DeliveryID(partition: 0, item: ItemID(unchecked: "AAAAAAAAAAAA")),
                from: DeliveryState(),
                to: DeliveryState()
            )
            #expect(try await harness.queue.revise([gone], endingHolds: false) == [.missing])
        }
    }

    @Test("the end of a replay is recorded after the split when its partition is frozen")
    func replays() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.markDeliveries()
            let work = harness.work(.deliveries)
            try await work.begin()
            try await work.enter(.closing, in: 0)
            try await work.enter(.frozen, in: 0)
            try await work.eachMoving([]) { part throws(StoreError) in try await work.copy(part) }
            var job = ReplayJob(endpoint: Self.endpoint, choice: .dead, since: nil)
            job.progress = .finished
            async let recorded: Void = harness.queue.record(job)
            try await harness.waitForRefusal()
            try await harness.split([0])
            try await recorded
            #expect(try await harness.queue.replay(of: Self.endpoint)?.progress == .finished)
        }
    }

    @Test("a replay continues across a split and sends no dead letter twice")
    func replayed() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client, former: 1)
            try await harness.markDeliveries(300)
            try await harness.giveUpDeliveries()
            let clock = SleepingClock { try await harness.split([0]) }
            let replayer = Replayer(
                watches: harness.store,
                outbox: harness.outbox,
                deliveries: harness.queue,
                clock: clock
            )
            let job = ReplayJob(endpoint: Self.endpoint, choice: .dead, since: nil)
            await replayer.run(job, endpoint: nil)
            let ended = try #require(try await harness.queue.replay(of: Self.endpoint))
            #expect(ended.progress == .finished && ended.error == nil, "\(ended)")
            #expect(ended.matched == 300 && ended.lookedAt == 300, "\(ended)")
            #expect(harness.queue.partition(of: LaneID(endpoint: Self.endpoint)) != 0)
        }
    }

    private static func whole(_ page: Page, _ harness: RedisHarness) async throws -> Set<String> {
        var all: Set<String> = []
        var cursor: String?
        repeat {
            let (items, next) = try await page(harness, cursor)
            all.formUnion(items)
            cursor = next
        } while cursor != nil
        return all
    }
}

/// An endpoint whose lane leaves its partition in every split.
private let moving: EndpointID = {
    let map = PartitionMap(partitions: 4)
    let ids = (0..<100).map { EndpointID(unchecked: "ep_\($0)") }
    return ids.first { map.finalPartition(of: LaneID(endpoint: $0).description) == 3 } ?? ids[0]
}()

/// A clock whose first sleep runs an action, and whose other sleeps take no time.
private final class SleepingClock: Clock, Sendable {
    typealias Instant = ContinuousClock.Instant

    private let first: Once

    init(_ body: @escaping @Sendable () async throws -> Void) {
        first = Once(body)
    }

    var now: Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await first.run()
    }

    private actor Once {
        private var body: (@Sendable () async throws -> Void)?

        init(_ body: @escaping @Sendable () async throws -> Void) { self.body = body }

        func run() async throws {
            let body = self.body
            self.body = nil
            try await body?()
        }
    }
}

extension RedisHarness {
    /// Marks deliveries to one endpoint that moves, and to some others.
    fileprivate func markDeliveries(_ count: Int = 40) async throws {
        for start in stride(from: 0, to: count, by: 100) {
            try await queue.mark(
                (start..<min(start + 100, count)).map {
                    DeliveryMark(endpoint: moving, watch: Self.watchKey($0))
                }
            )
        }
        try await queue.mark(
            (0..<20).map {
                let endpoint = EndpointID(unchecked: "ep_other_\($0 % 5)")
                return DeliveryMark(endpoint: endpoint, watch: Self.watchKey($0))
            }
        )
    }

    /// Ends every delivery with a dead letter.
    fileprivate func giveUpDeliveries() async throws {
        while true {
            let leases = try await queue.claim(
                ClaimRequest(
                    partition: 0,
                    limit: 128,
                    owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                    lease: .seconds(10),
                    lane: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1000)
                )
            ).leases
            if leases.isEmpty { return }
            let state = DeliveryState(cursor: 1, attempts: 9, dead: [1])
            _ = try await queue.commit(
                leases.map {
                    Commit(
                        ref: $0.ref,
                        verdict: .setAside,
                        change: DeliveryChange(state: state)
                    )
                }
            )
        }
    }
}
