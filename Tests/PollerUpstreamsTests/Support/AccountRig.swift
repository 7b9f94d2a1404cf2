import Foundation
import Logging
import PollerHints
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerRedis
import PollerTesting
import PollerUpstreams
import PollerWatches
import RedisClient
import StripeAPI
import StripeSandbox
import Synchronization

/// A sandbox and a real Redis with an empty store, for tests of whole accounts.
struct AccountRig: Sendable {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    static let owner = OwnerID(unchecked: "AAAAAAAAAAA")

    let base: String
    let sandbox: StripeClient
    let redis: RedisClient
    let watches: RedisWatchStore
    let accountCounts: RedisAccountCounts
    let deliveries: RedisDeliveryQueue
    let store: RedisSweepStore
    let accounts: StripeAccounts

    /// Runs `body` with new servers; a webhook counts as missed after `webhookSpan`.
    static func run(
        webhookSpan: Duration = RedisSweepStore.webhookSpan,
        _ body: @escaping @Sendable (AccountRig) async throws -> Void
    ) async throws {
        let server = try RedisServerProcess()
        try await Sandbox.withRunning { base in
            let redis = RedisClient(
                url: try RedisURL(server.url),
                configuration: .patient,
                logger: quiet
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await redis.run() }
                try await redis.waitUntilConnected(timeout: .seconds(60))
                let layout = try await StoreLayout.loadOrCreate(on: redis, namespace: "t")
                let partitions = RedisPartitions(client: redis, layout: layout, logger: quiet)
                let configuration = StripeClientConfiguration(
                    key: StripeKey("sk_test_1"),
                    baseURL: base
                )
                try await body(
                    AccountRig(
                        base: base,
                        sandbox: StripeClient(configuration: configuration),
                        redis: redis,
                        watches: RedisWatchStore(partitions),
                        accountCounts: RedisAccountCounts(partitions),
                        deliveries: RedisDeliveryQueue(
                            client: redis,
                            layout: layout,
                            logger: quiet
                        ),
                        store: RedisSweepStore(
                            client: redis,
                            layout: layout,
                            webhookSpan: webhookSpan
                        ),
                        accounts: StripeAccounts([.main: configuration])
                    )
                )
                group.cancelAll()
            }
        }
    }

    /// Creates a source in the sandbox.
    func makeSource() async throws -> String {
        struct Made: Decodable { let id: String }
        return try await sandbox.post(
            "/v1/sources",
            form: [
                ("type", "ideal"), ("amount", "1099"), ("currency", "eur"),
                ("redirect[return_url]", "https://shop.example.com/thanks"),
            ]
        ).decode(Made.self).id
    }

    /// Sets a source's status, which creates an event.
    func set(_ source: String, _ status: String) async throws {
        let path = "/_sandbox/sources/\(source)/status"
        let reply = try await Control(base: base).post(path, json: "{\"status\":\"\(status)\"}")
        guard reply == 200 else { throw RigFailure(description: "status \(status): \(reply)") }
    }

    func key(_ source: String) -> WatchKey {
        WatchKey(account: .main, source: SourceID(unchecked: source), kind: .source)
    }

    /// Watches a source as if it had just been polled; it is due again in a minute.
    func watch(_ source: String) async throws {
        _ = try await watches.enqueue([try NewWatch(key: key(source), policy: .patient)])
    }

    /// Returns the time of the watch's last hint.
    func hintedAt(_ source: String) async throws -> Timestamp? {
        try await watches.snapshot(of: key(source))?.watch.hintedAt
    }
}

/// A list of events for tests, which confirms nothing and has no events, objects or notices.
protocol StubAccountEvents: AccountEvents {}

extension StubAccountEvents {
    func events(
        of account: AccountID,
        _ list: EventList,
        _ range: EventRange
    ) async throws(AccountEventsFailure) -> AccountEventsPage {
        AccountEventsPage(events: [], hasMore: false)
    }

    func subject(
        ofCharge charge: ChargeID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? { nil }

    func notice(
        _ id: String,
        of source: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> NoticeLookup { .unreadable }

    func hasEvent(
        _ event: AccountEvent,
        about object: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> Bool { false }

    func intent(
        ofInvoice invoice: String,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? { nil }
}
