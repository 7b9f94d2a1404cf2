import Foundation
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient

@testable import PollerRedis

/// All operations of the stores, on the records of one namespace.
///
/// Errors of the stores are valid results, which the exercise collects by operation. A trap would end the process.
struct StoreExercise {
    let harness: RedisHarness
    let watches: [WatchKey]
    let deliveries: [DeliveryID]
    let endpoints: [EndpointID]
    let accounts: [AccountID]
    private let orders: [OrderKey]
    let owner = OwnerID(unchecked: "CCCCCCCCCCC")

    /// Collects the names of the records in the namespace.
    init(_ harness: RedisHarness) async throws {
        self.harness = harness
        let listed = try await harness.watches.list(ListQuery(limit: 6)).items
        watches = listed.map(\.watch.key)
        deliveries = try await harness.deliveries.deliveries(DeliveryQuery(limit: 6)).items.map(
            \.id
        )
        endpoints = try await harness.endpoints.list(accounts: .all, limit: 4, cursor: nil).items
            .map(\.id)
        accounts = try await harness.accounts.accounts(limit: 4, cursor: nil).items + [.main]
        orders = listed.compactMap { OrderKey(of: $0.watch) }
    }

    /// Returns the errors of all operations that change nothing.
    func read() async -> [String: String] {
        var outcome = Outcome()
        await readWatches(&outcome)
        await readOutbox(&outcome)
        await readDeliveries(&outcome)
        await readRegisters(&outcome)
        return outcome.errors
    }

    /// Runs the operations that change records.
    func write() async {
        var outcome = Outcome()
        await operate(&outcome)
        await work(&outcome)
        await outcome.attempt("advance") { try await harness.advance(by: .seconds(90)) }
        await work(&outcome)
        await keepTidy(&outcome)
    }

    /// The errors of operations, by name.
    struct Outcome {
        private(set) var errors: [String: String] = [:]

        mutating func attempt(_ name: String, _ operation: () async throws -> Void) async {
            do { try await operation() } catch { errors[name] = "\(error)" }
        }
    }

    var partitions: Range<Int> { 0..<harness.layout.partitions }

    private func readWatches(_ outcome: inout Outcome) async {
        let store = harness.store
        for key in watches {
            await outcome.attempt("snapshot") {
                guard let snapshot = try await store.snapshot(of: key) else { return }
                _ = SearchEntries(of: snapshot, keys: store.searchKeys).stored
            }
            await outcome.attempt("events") {
                _ = try await store.events(of: key, after: 0, limit: 100)
            }
            await outcome.attempt("notes") { _ = try await store.notes(of: key) }
            await outcome.attempt("explain") {
                _ = try await store.explain(key, limit: .stripe)?.limit.intervalUs
            }
            await outcome.attempt("lane") { _ = try await store.lane(key.lane) }
        }
        let states: [ListQuery.State?] = [nil, .open, .closed, .quarantined]
        for state in states {
            await outcome.attempt("list") {
                _ = try await store.list(ListQuery(state: state, limit: 50))
            }
            await outcome.attempt("list by pages") {
                let page = try await store.list(ListQuery(state: state, limit: 1))
                if page.next != nil {
                    _ = try await store.list(ListQuery(state: state, limit: 1, cursor: page.next))
                }
            }
        }
        for text in ["amount>5", "order=A77", "src_1", "created>2020-01-01", "customer=c_1"] {
            await outcome.attempt("search") {
                let search = try SearchQuery(
                    text,
                    metadata: [],
                    keys: store.searchKeys,
                    now: Timestamp(ms: 1_800_000_000_000)
                )
                _ = try await store.list(ListQuery().searching(for: search))
            }
        }
        await outcome.attempt("stats") { _ = try await store.stats() }
        await outcome.attempt("lanes") {
            let page = try await store.lanes(limit: 50, cursor: nil)
            for report in page.items { _ = report.limit?.intervalUs }
        }
        await outcome.attempt("accounts") {
            _ = try await harness.accounts.accounts(limit: 50, cursor: nil)
            _ = try await harness.accounts.openWatches(of: accounts)
            _ = try await harness.accounts.openWatches(among: watches)
        }
        for order in orders {
            await outcome.attempt("order") { _ = try await harness.orders.order(order) }
        }
        for account in accounts {
            await outcome.attempt("orders") {
                _ = try await harness.orders.orders(OrderQuery(account: account))
            }
        }
        await outcome.attempt("incidents") { _ = try await harness.incidents.incidents() }
        await outcome.attempt("audit") { _ = try await harness.audit() }
    }

    private func readOutbox(_ outcome: inout Outcome) async {
        let outbox = harness.outbox
        for partition in partitions {
            await outcome.attempt("entries") {
                let entries = try await outbox.entries(partition: partition, after: "0", limit: 50)
                _ = try await outbox.positions(partition: partition, of: entries.map(\.id))
            }
            await outcome.attempt("acknowledged") {
                _ = try await outbox.acknowledgedUntil(partition: partition)
            }
            await outcome.attempt("references") {
                let place = OutboxReadPosition(partition: partition, position: "0")
                let found = try await outbox.references(behind: [place], limit: 50)
                _ = try await outbox.events(of: found.flatMap(\.self))
            }
        }
        await outcome.attempt("bounds") {
            for bounds in try await outbox.bounds() {
                _ = (OutboxPosition(bounds.oldest), OutboxPosition(bounds.newest))
            }
            _ = try await outbox.reachableBounds()
        }
    }

    private func readDeliveries(_ outcome: inout Outcome) async {
        let queue = harness.queue
        for id in deliveries {
            await outcome.attempt("delivery") {
                _ = try await queue.delivery(id, of: .all)?.state
                _ = try await queue.attempts(of: id)
            }
        }
        await outcome.attempt("deliveries") {
            let states: [DeliverySnapshot.State?] = [nil, .waiting, .failing, .dead, .done]
            for state in states {
                _ = try await queue.deliveries(DeliveryQuery(state: state, limit: 50))
            }
        }
        await outcome.attempt("dead letters") { _ = try await queue.deadLetters(limit: 50) }
        for endpoint in endpoints {
            await outcome.attempt("dead letters of an endpoint") {
                _ = try await queue.deadLetters(of: endpoint, limit: 50)
            }
            await outcome.attempt("replay") { _ = try await queue.replay(of: endpoint) }
        }
        await outcome.attempt("delivery stats") { _ = try await queue.stats() }
        for partition in partitions {
            await outcome.attempt("watermark") {
                _ = try await queue.watermark(partition: partition)
            }
        }
        await outcome.attempt("delivery lanes") {
            for report in try await queue.lanes(limit: 50, cursor: nil).items {
                _ = report.limit?.intervalUs
            }
        }
    }

    private func readRegisters(_ outcome: inout Outcome) async {
        let registry = harness.endpoints
        await outcome.attempt("registry version") { _ = try await registry.version() }
        await outcome.attempt("registry changes") {
            _ = try await registry.changes(since: 0, isContinuing: false)
        }
        await outcome.attempt("endpoint list") {
            _ = try await registry.list(accounts: .all, limit: 50, cursor: nil)
            _ = try await registry.counts(of: accounts)
        }
        for id in endpoints {
            await outcome.attempt("endpoint") {
                let read = try await registry.read(id, of: .all)
                _ = read?.endpoint.limit?.intervalUs
            }
        }
        await outcome.attempt("keys") {
            _ = try await harness.keys.version()
            _ = try await harness.keys.register()
        }
        await outcome.attempt("trail") { _ = try await harness.trail.entries(AuditQuery()) }
        await outcome.attempt("activity") {
            for span in ActivitySpan.allCases { _ = try await harness.activity.history(span) }
        }
        await outcome.attempt("members") { _ = try await harness.members.members() }
        let (client, layout) = (harness.client, harness.layout)
        await outcome.attempt("layout") {
            _ = try await StoreLayout.stored(on: client, namespace: layout.namespace)
            _ = try await StoreVersion.live.refusal(on: client, namespace: layout.namespace)
        }
        await outcome.attempt("marks") {
            let sweeps = RedisSweepStore(client: client, layout: layout)
            _ = try await sweeps.isMarked(["evt_1"], of: .main)
        }
        await outcome.attempt("suppressions") {
            let list = RedisSuppressionList(client: client, layout: layout)
            let recipient = try MailAddress("a@example.com")
            _ = try await list.reason(for: recipient, of: .main)
            let entry = SuppressionEntry(recipient, of: .main)
            _ = try await list.noteRefusal(entry, at: Timestamp(ms: 1_700_000_000_000))
            _ = try await RedisRelayFailures(client: client, layout: layout).relayFailures()
        }
        await outcome.attempt("unread amounts") {
            _ = try await RedisUnreadableAmounts(client: client, layout: layout).unreadableAmounts()
        }
        await outcome.attempt("secrets") {
            let masterKeys = try MasterKeys(RedisHarness.masterKey)
            let secrets = RedisSecrets(client: client, layout: layout, masterKeys: masterKeys)
            _ = try await secrets.encryptionStatus()
            _ = try await secrets.refresh()
        }
    }
}
