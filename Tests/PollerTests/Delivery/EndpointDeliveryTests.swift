import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("deliveries to registered endpoints", .timeLimit(.minutes(5)))
struct EndpointDeliveryTests {
    let rig = WorkerRig()
    let deliveries: MemoryDeliveryQueue
    let registry: MemoryEndpointStore
    let directory: EndpointDirectory
    let channel = RecordingChannel()

    init() {
        let time = ClockTime(rig.clock)
        deliveries = MemoryDeliveryQueue(time: time)
        registry = MemoryEndpointStore(time: time)
        directory = EndpointDirectory(store: registry, logger: Sample.quiet)
    }

    /// Runs reader, sync, notifier and a worker while the test checks the deliveries.
    func notifying(isKeeping: Bool = true, _ body: () async throws -> Void) async throws {
        let clock = rig.clock
        let reader = OutboxReader(rig.store, deliveries, directory: directory, clock: clock)
        let sync = EndpointSync(
            directory: directory,
            lanes: deliveries,
            clock: clock,
            logger: Sample.quiet
        )
        let notifier = LeaseWorker(
            "notifier",
            deliveries,
            DeliveryHandler(
                store: rig.store,
                directory: directory,
                channels: [channel],
                logger: Sample.quiet
            ),
            concurrency: 8,
            lease: .seconds(60),
            clock: clock
        )
        try await running(rig.worker().run) {
            try await running(reader.run) {
                try await running({ if isKeeping { await sync.run() } }) {
                    try await running(notifier.run, body)
                }
            }
        }
    }

    func register(
        _ host: String,
        _ change: (inout Endpoint) throws -> Void = { _ in }
    ) async throws -> EndpointID {
        var endpoint = try EndpointTests.endpoint(host)
        try change(&endpoint)
        _ = try await registry.create(endpoint, request: nil)
        return endpoint.id
    }

    func settle(_ source: String, metadata: String = "") async throws {
        let key = Sample.key(source)
        rig.upstream.script(key.source, [.pending, .status("consumed", final: true)])
        _ = try await rig.store.enqueue([try NewWatch(key: key, metadata: metadata)])
    }

    func received(_ host: String) -> [String] {
        channel.attempts.filter { $0.url.host == "\(host).example" }
            .map { "\($0.event.key.source) \($0.event.status?.description ?? "")" }
    }

    @Test("each endpoint receives the events in its scope in order, with its own settings")
    func wants() async throws {
        _ = try await register("all")
        _ = try await register("ends") { $0.scope = try EndpointScope(finalOnly: true) }
        _ = try await register("shop") {
            $0.scope = try EndpointScope(metadata: ["shop": "berlin"])
            $0.payload = .thin
        }
        _ = try await register("other") { $0.scope = try EndpointScope(sources: ["src_9"]) }
        try await notifying {
            try await settle("src_1", metadata: #"{"shop":"berlin"}"#)
            try await settle("src_2")
            try await rig.timePasses(by: .milliseconds(200), until: "all is told") {
                received("all").count == 4 && received("ends").count == 2
                    && received("shop").count == 2
            }
            #expect(
                received("all").filter { $0.hasPrefix("src_1") } == [
                    "src_1 pending", "src_1 consumed",
                ]
            )
            #expect(Set(received("ends")) == ["src_1 consumed", "src_2 consumed"])
            #expect(received("shop") == ["src_1 pending", "src_1 consumed"])
            #expect(received("other") == [])
        }
        let target = channel.attempts.first { $0.url.host == "shop.example" }?.target
        #expect(target?.endpoint?.payload == .thin)
        #expect(deliveries.violations() == [])
    }

    @Test("the outbox reader finds an endpoint that was created before the event")
    func exact() async throws {
        let reader = OutboxReader(rig.store, deliveries, directory: directory, clock: rig.clock)
        try await running(reader.run) {
            await rig.clock.waitForSleepers(1)
            for number in 1...5 {
                _ = try await register("n\(number)")
                let key = Sample.key("src_\(number)")
                _ = try await rig.store.enqueue([try NewWatch(key: key)])
                _ = try await rig.store.cancel(key)
                // One more endpoint receives each event: 1 + 2 + 3 + …
                let marked = number * (number + 1) / 2
                try await eventually("all endpoints are marked") {
                    try await deliveries.stats().pending == marked
                }
            }
        }
        #expect(rig.clock.now == .init(offset: .zero))
    }

    @Test("regression 12: two accounts with the same source receive only their own events")
    func accounts() async throws {
        for account in ["acct_a", "acct_b"] {
            let endpoint = try EndpointTests.endpoint(account, account: account)
            _ = try await registry.create(endpoint, request: nil)
        }
        let url = try NotifyURL("https://both.example/hook")
        try await notifying {
            for (count, account) in ["acct_a", "acct_b"].enumerated() {
                let key = Sample.key("src_1", account: account)
                rig.upstream.script(key.source, [.status("consumed", final: true)])
                _ = try await rig.store.enqueue([try NewWatch(key: key, notify: [url])])
                try await rig.timePasses(by: .milliseconds(200), until: "it is told") {
                    received(account).count == 1 && received("both").count == count + 1
                }
            }
        }
        for account in ["acct_a", "acct_b"] {
            let events = channel.attempts.filter { $0.url.host == "\(account).example" }
            #expect(events.map(\.event.key.account.description) == [account])
        }
        let inline = channel.attempts.filter { $0.url == url }
        #expect(Set(inline.map { $0.target.id(account: $0.event.key.account) }).count == 2)
    }

    @Test("a disabled endpoint receives nothing, and its pending events after it is enabled")
    func disabled() async throws {
        let id = try await register("a")
        _ = try await register("b")
        try await registry.disable(id, reason: "x")
        try await notifying {
            try await settle("src_1")
            try await rig.timePasses(by: .milliseconds(200), until: "the other is told") {
                received("b").count == 2
            }
            try await rig.timePasses(by: .milliseconds(200), until: "its lane is paused") {
                try await deliveries.lane(LaneID(endpoint: id))?.isPaused == true
            }
            #expect(received("a") == [])
            try await registry.enable(id)
            try await rig.timePasses(by: .milliseconds(200), until: "it is told") {
                received("a").count == 2
            }
            #expect(received("a") == ["src_1 pending", "src_1 consumed"])
        }
    }

    @Test("a delivery claimed before the lane of its disabled endpoint is paused is not sent")
    func claimedAnyway() async throws {
        let id = try await register("a")
        _ = try await register("b")
        try await registry.disable(id, reason: "x")
        try await notifying(isKeeping: false) {
            try await settle("src_1")
            try await rig.timePasses(by: .milliseconds(200), until: "the other is told") {
                received("b").count == 2
            }
            let lane = LaneID(endpoint: id)
            try await eventually("it waits") { try await deliveries.lane(lane)?.waiting == 1 }
        }
        #expect(received("a") == [])
    }

    @Test("pending events of a removed endpoint are dropped")
    func removed() async throws {
        let id = try await register("a")
        try await registry.disable(id, reason: "x")
        try await notifying {
            try await settle("src_1")
            try await rig.timePasses(by: .milliseconds(200), until: "it waits") {
                try await deliveries.stats().pending == 1
            }
            _ = try await registry.remove(id)
            try await rig.timePasses(by: .milliseconds(200), until: "nothing waits") {
                try await deliveries.stats().pending == 0
            }
        }
        #expect(channel.attempts.isEmpty)
    }

    @Test("an endpoint's own schedule determines its number of attempts")
    func schedule() async throws {
        _ = try await register("a") { $0.retry = .none }
        channel.script([.failed("answered 500"), .failed("answered 500")])
        try await notifying {
            try await settle("src_1")
            try await rig.timePasses(by: .milliseconds(200), until: "both events had their attempt")
            {
                channel.attempts.count == 2
            }
        }
        #expect(channel.attempts.map(\.number) == [1, 1])
    }

    @Test("an endpoint without retries gets one attempt per event, with any state of its circuit")
    func noRetries() async throws {
        let id = try await register("a") { $0.retry = .none }
        channel.script(Array(repeating: .failed("answered 500"), count: 10))
        try await notifying {
            for number in 1...12 { try await settle("src_\(number)") }
            try await rig.timePasses(by: .seconds(1), until: "every event was tried") {
                channel.attempts.count >= 24
            }
            try await rig.timePasses(by: .seconds(1), until: "its circuit has closed") {
                try await deliveries.lane(LaneID(endpoint: id))?.failures ?? 0 == 0
            }
        }
        #expect(Set(channel.attempts.map(\.event.id)).count == 24)
        #expect(channel.attempts.count == 24)
    }
}
