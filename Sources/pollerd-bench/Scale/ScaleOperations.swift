import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerRedis
import PollerWatches
import RedisClient

/// Every operation of the queue and the store, called on a store of a given size.
///
/// The order gives each operation its input. Watches are added, claimed, committed and hinted. Then they are read,
/// listed and searched. Marks are made and deliveries listed. At last old data is removed.
struct ScaleOperations {
    /// The number of watches added for this measurement, some for each partition.
    private static let probes = 320
    /// The maximum of registered endpoints in a registry.
    private static let endpointsMax = 10_000
    private static let endpoints = 1000

    private let scale: ScaleStore
    private let store: BenchStore
    private let count: Int
    private let meter: ScaleMeter
    private(set) var figures: [ScaleFigure] = []

    init(scale: ScaleStore, count: Int) {
        self.scale = scale
        self.count = count
        store = scale.store
        meter = ScaleMeter(store: scale.store)
    }

    private var watches: RedisWatchStore { store.watches }
    private var deliveries: RedisDeliveryQueue { store.deliveries }
    private var partitions: Int { watches.partitions }

    mutating func measure() async throws {
        try await queueOperations()
        try await readOperations()
        try await listOperations()
        try await searchOperations()
        try await deliveryOperations()
        try await auditOperations()
        try await deleteOperations()
    }

    private mutating func add(
        _ name: String,
        _ title: String,
        _ times: Int,
        _ body: (Int) async throws -> Int
    ) async throws {
        figures.append(try await meter.measure(name, title, times, body))
    }

    private func probe(_ number: Int) throws -> WatchKey {
        try scale.key(number, prefix: "probe\(count)x")
    }

    // MARK: - The queue

    private mutating func queueOperations() async throws {
        let (scale, store) = (scale, store)
        let probes = try (0..<Self.probes).map(probe)
        try await add("enqueue", "a watch is enqueued", probes.count) { number in
            _ = try await store.watches.enqueue([try NewWatch(key: probes[number])])
            return 1
        }
        var held: [[Lease<Watch>]] = []
        try await add("claim", "a watch is claimed, some together", partitions) { partition in
            let claim = try await store.watches.claim(scale.request(partition, 512))
            held.append(claim.leases)
            return claim.leases.count
        }
        try await add("exchange", "a result is committed and a watch claimed", 16 * partitions) {
            number in
            let partition = number % held.count
            let commits = held[partition].map { scale.later($0, .zero) }
            let (_, claim) = try await store.watches.commit(
                commits,
                then: scale.request(partition, 512)
            )
            held[partition] = claim.leases
            return commits.count
        }
        for leases in held where !leases.isEmpty {
            _ = try await store.watches.commit(leases.map { scale.later($0, .seconds(36_000)) })
        }
        // A claim checks 64 lanes, and there may be more.
        try await scale.settle()
        try await add("claim_in_vain", "a claim that finds nothing", 500) { number in
            _ = try await store.watches.claim(scale.request(number % held.count, 64))
            return 1
        }
        try await add("hint", "a hint", probes.count) { number in
            try await store.watches.hint(probes[number]) ? 1 : 0
        }
        try await scale.settle()
        try await add("cancel", "a watch is cancelled", probes.count / 2) { number in
            try await store.watches.cancel(probes[number]) ? 1 : 0
        }
    }

    // MARK: - Reading

    private mutating func readOperations() async throws {
        let (scale, store, count) = (scale, store, count)
        try await add("read", "a watch is read", 300) { number in
            _ = try await store.watches.snapshot(of: try scale.open(number, of: count))
            return 1
        }
        try await add("explain", "a watch is explained", 300) { number in
            let key = try scale.open(number, of: count)
            return try await store.watches.explain(key, limit: .unlimited) == nil ? 0 : 1
        }
        try await add("events", "the events of a watch", 300) { number in
            let key = try scale.closed(number, of: count)
            _ = try await store.watches.events(of: key, after: 0, limit: 100)
            return 1
        }
        try await add("stats", "500 lanes are counted", 2) { _ in
            let lanes = try await store.watches.stats().lanes
            return max(store.watches.partitions, lanes / 500)
        }
    }

    private mutating func listOperations() async throws {
        let (watches, accounts) = (watches, store.accounts)
        try await pages("list", "a page of 50 watches") {
            try await watches.list(ListQuery(limit: 50, cursor: $0))
        }
        try await pages("list_closed", "a page of 50 that have ended") {
            try await watches.list(ListQuery(state: .closed, limit: 50, cursor: $0))
        }
        try await pages("lanes", "a page of 50 lanes") {
            try await watches.lanes(limit: 50, cursor: $0)
        }
        try await pages("accounts", "a page of 50 accounts") {
            try await accounts.accounts(limit: 50, cursor: $0)
        }
    }

    /// Reads the first pages of a list in order, and starts again at its end.
    private mutating func pages<Item: Sendable>(
        _ name: String,
        _ title: String,
        _ read: (String?) async throws -> ListPage<Item>
    ) async throws {
        var cursor: String?
        try await add(name, title, 40) { _ in
            let page = try await read(cursor)
            cursor = page.next
            return page.items.isEmpty ? 0 : 1
        }
    }

    private mutating func searchOperations() async throws {
        let (scale, store, count) = (scale, store, count)
        // Reads up to the first page with a result, because with many lanes one page covers only some of them.
        func search(_ text: String) async throws -> Int {
            let query = try SearchQuery(text, keys: .standard, now: BenchStore.wallClock())
            var page = try await store.watches.list(ListQuery(search: query))
            while page.items.isEmpty, let next = page.next {
                page = try await store.watches.list(ListQuery(search: query, cursor: next))
            }
            return min(page.items.count, 1)
        }
        try await add("search_order", "a search for an order", 50) { number in
            let closed = scale.closedNumber(number, of: count)
            return try await search("order=\(scale.order(of: closed))")
        }
        try await add("search_source", "a search for a source, its account unknown", 10) { number in
            try await search("\(try scale.open(number, of: count).source)")
        }
    }

    // MARK: - Telling

    private mutating func deliveryOperations() async throws {
        let (store, scale) = (store, scale)
        try await add("outbox", "an entry of the outbox is read and acknowledged", 2 * partitions) {
            number in
            let read = try await store.outbox.unacknowledged(
                partition: number % store.outbox.partitions,
                consumer: store.owner,
                idle: .seconds(60),
                limit: 100
            )
            try await store.outbox.acknowledge(
                partition: number % store.outbox.partitions,
                read.map(\.id)
            )
            return read.count
        }
        try await add("bounds", "the ends of the outbox", 100) { _ in
            _ = try await store.outbox.bounds()
            return 1
        }
        // As many lanes of deliveries as of watches, in the series that varies lanes.
        let lanes = max(scale.lanes, Self.endpoints)
        let watch = try scale.closed(0, of: count)
        let marks = try (0..<lanes).map { number in
            DeliveryMark(
                endpoint: EndpointID(
                    account: watch.account,
                    url: try NotifyURL("https://shop\(number).example/hook\(count)").description
                ),
                watch: watch,
                isUrgent: false
            )
        }
        try await add("mark", "an event is marked for one of many endpoints", 1) { _ in
            for start in stride(from: 0, to: marks.count, by: 512) {
                let end = min(start + 512, marks.count)
                try await store.deliveries.mark(Array(marks[start..<end]))
            }
            return marks.count
        }
        let deliveries = deliveries
        try await pages("deliveries", "a page of 50 deliveries") {
            try await deliveries.deliveries(DeliveryQuery(limit: 50, cursor: $0))
        }
        try await add("fallback", "the fallbacks of an endpoint are looked for", 100) { number in
            let endpoint = marks[number * 7919 % marks.count].endpoint
            let query = DeliveryQuery(endpoint: endpoint, limit: 200)
            return try await deliveries.deliveries(query).items.count
        }
        try await add("claim_delivery", "a delivery is claimed, 64 together", partitions) {
            number in
            let claim = try await deliveries.claim(scale.request(number, 64))
            _ = try await deliveries.release(claim.leases.map(\.ref))
            return claim.leases.count
        }
        try await registry(min(lanes, Self.endpointsMax))
    }

    /// Measures the start of a process, which reads all registered endpoints.
    private mutating func registry(_ size: Int) async throws {
        let (registry, logger) = (store.registry, store.logger)
        let account = try AccountID("acct_scale")
        let had = try await registry.counts(of: [account])[0]
        try await store.register(had..<max(size, had), of: account)
        try await add("start", "an endpoint is read by a process that starts", 3) { _ in
            let directory = EndpointDirectory(store: registry, logger: logger)
            try await directory.refresh()
            return max(size, had)
        }
    }

    // MARK: - Checking and forgetting

    private mutating func auditOperations() async throws {
        let (watches, store) = (watches, store)
        try await add("audit_lanes", "a step of fsck over 500 lanes", 10) { number in
            let cursor = "lanes.\(number % watches.partitions).0"
            return try await watches.audit(after: cursor, repairing: false).checked > 0 ? 1 : 0
        }
        var cursor = "items.0.0"
        try await add("audit_items", "fsck of a watch", 20) { _ in
            let page = try await watches.audit(after: cursor, repairing: false)
            guard page.faults.isEmpty else { throw BenchError("fsck: \(page.faults[0])") }
            cursor = page.next ?? "items.0.0"
            return page.checked
        }
        try await add("acknowledged", "the acknowledged position of the notifiers", 300) { number in
            _ = try await store.outbox.acknowledgedUntil(partition: number % watches.partitions)
            return 1
        }
    }

    private mutating func deleteOperations() async throws {
        let (watches, store, partitions) = (watches, store, partitions)
        let closed = try await watches.stats().closed / partitions
        try await add("compact", "the events of a payment are packed, 64 together", partitions) {
            number in
            _ = try await watches.compact(partition: number, after: .zero)
            return max(min(closed, 64), 1)
        }
        try await add("reduce", "a payment loses its bodies, 64 together", partitions) { number in
            _ = try await watches.removeBodies(partition: number, retention: .zero)
            return max(min(closed, 64), 1)
        }
        try await skipOutbox()
        let kept = try await entries()
        try await add("trim", "an entry of the outbox is dropped", partitions) { number in
            try await store.outbox.trim(partition: number, retention: .zero)
            return number == partitions - 1 ? kept : 0
        }
        // A watch closed in the current millisecond is not older than it.
        try await store.clock.sleep(for: .milliseconds(2))
        let before = try await watches.stats().closed
        var step = try await meter.measure("purge", "a watch is deleted", partitions) {
            number in
            _ = try await watches.purge(
                partition: number,
                retention: .zero,
                refundableRetention: .zero
            )
            return 1
        }
        let after = try await watches.stats().closed
        let forgotten = Double(before - after)
        guard forgotten > 0 else { throw BenchError("no watch was deleted") }
        step.us *= Double(partitions) / forgotten
        step.commands *= Double(partitions) / forgotten
        figures.append(step)
    }

    /// Moves the notifiers' consumer group to the end of the outbox.
    private func skipOutbox() async throws {
        for partition in 0..<partitions {
            let stream = store.layout.watchKeys.outbox(partition)
            _ = try await store.client.send(
                RedisCommand("XGROUP", ["SETID", .string(stream), "notifier", "$"])
            )
        }
    }

    private func entries() async throws -> Int {
        var sum = 0
        for partition in 0..<partitions {
            let stream = store.layout.watchKeys.outbox(partition)
            sum += try await store.client.send(RedisCommand("XLEN", [.string(stream)])).int ?? 0
        }
        return sum
    }
}
