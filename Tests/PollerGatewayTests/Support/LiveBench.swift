import JSONText
import Logging
import NIOCore
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import ServiceLifecycle
import Testing

@testable import PollerGateway

/// A gateway on a free port over an in-memory store, with helpers to record events.
struct LiveBench: Sendable {
    /// A key for every account, keys for a single one, and one for two.
    struct Keys: Authenticator {
        let anonymous: Principal? = nil

        func principal(token: String) async -> Principal? {
            switch token {
            case "key-all": Principal(name: "all", accounts: .all)
            case "key-main": Principal(name: "main", accounts: .some([.main]))
            case "key-other":
                Principal(name: "other", accounts: .some([AccountID(unchecked: "acct_other")]))
            case "key-two":
                Principal(
                    name: "two",
                    accounts: .some([
                        AccountID(unchecked: "acct_a"), AccountID(unchecked: "acct_b"),
                    ])
                )
            default: nil
            }
        }
    }

    static let cursorSecret = [UInt8](repeating: 7, count: 32)
    /// Issues and verifies stream tokens, at the time of the store.
    let tokens: StreamTokens

    let store: MemoryStore
    let port: Int
    let log: RecordedLog
    private let group: ServiceGroup

    /// Runs a gateway while `body` runs, then shuts it down.
    static func run(
        limits: GatewayLimits = GatewayLimits(),
        authenticator: any Authenticator = Keys(),
        allowedOrigins: Set<String> = [],
        drainTimeout: Duration = .seconds(7),
        store: MemoryStore? = nil,
        spent: any SpentTokens = MemorySpentTokens(),
        _ body: (LiveBench) async throws -> Void
    ) async throws {
        var limits = limits
        // A busy machine may take longer to check a key, or to send it in the first frame.
        if limits.authTimeout == GatewayLimits.standard.authTimeout {
            limits.authTimeout = .seconds(120)
        }
        let clock = ContinuousClock()
        let store = store ?? MemoryStore(time: ClockTime(clock))
        let log = RecordedLog()
        let logger = log.logger
        let feed = LiveFeed(outbox: store, clock: clock, logger: logger)
        let time = ClockTime(clock)
        let tokens = StreamTokens(roots: RootRing(fixed: cursorSecret)) { time.now }
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let gateway = Gateway(
            configuration: GatewayConfiguration(
                host: "127.0.0.1",
                port: 0,
                cursor: GatewayCursor(roots: RootRing(fixed: cursorSecret), span: .seconds(60)),
                allowedOrigins: allowedOrigins,
                limits: limits,
                drainTimeout: drainTimeout
            ),
            outbox: store,
            watches: store,
            feed: feed,
            authenticator: authenticator,
            tokens: tokens,
            spent: spent,
            logger: logger,
            onListening: { continuation.yield($0.port ?? 0) }
        )
        // With names, because a group without them prints each service with its whole content, which takes 0.1 s.
        let services: [any Service] = [feed, gateway]
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    .init(service: $0, serviceName: "\(type(of: $0))")
                },
                logger: logger
            )
        )
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        let port = await iterator.next() ?? 0
        let bench = LiveBench(
            tokens: tokens,
            store: store,
            port: port,
            log: log,
            group: group
        )
        do {
            try await body(bench)
        } catch {
            await group.triggerGracefulShutdown()
            try await running
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running
    }

    /// Begins to drain, as SIGTERM does.
    func drain() async {
        await group.triggerGracefulShutdown()
    }

    /// Records a status of a source, as a worker does.
    func record(
        _ source: String,
        _ status: String,
        final: Bool = false,
        account: AccountID = .main,
        object: String = "{}"
    ) async throws {
        try await Self.record(source, status, final: final, account: account, object: object, store)
    }

    /// Records into a store without a running gateway.
    static func record(
        _ source: String,
        _ status: String,
        final: Bool = false,
        account: AccountID = .main,
        kind: SourceKind? = nil,
        object: String = "{}",
        _ store: MemoryStore
    ) async throws {
        let id = SourceID(unchecked: source)
        let key = WatchKey(
            account: account,
            source: id,
            kind: kind ?? SourceKind(inferredFrom: id) ?? .source
        )
        _ = try await store.enqueue([try NewWatch(key: key)])
        let claim = try await store.claim(
            ClaimRequest(
                partition: store.partition(of: key.lane),
                limit: 1000,
                owner: OwnerID(unchecked: "AAAAAAAAAAA"),
                // The store's time is real, and without the lease nothing would be recorded.
                lease: .seconds(600),
                lane: .unlimited
            )
        )
        for lease in claim.leases {
            guard lease.item.key == key else {
                _ = try await store.release([lease.ref])
                continue
            }
            var state = lease.item.state
            let bare = Event(
                watch: lease.item,
                status: SourceStatus(unchecked: status),
                final: final,
                object: RawJSON(unchecked: "{}"),
                polledAt: lease.claimedAt,
                lag: .zero
            )
            // Inserted afterwards, because the search for secrets in it is slow in an unoptimised build.
            let json = bare.json.replacing(#""object":{}"#, with: #""object":\#(object)"#)
            let event = try #require(Event(json: json))
            state.status = SourceStatus(unchecked: status)
            _ = try await store.commit([
                Commit(
                    ref: lease.ref,
                    verdict: final ? .close(.settled) : .next(after: .seconds(600)),
                    change: WatchChange(state: state, event: event)
                )
            ])
        }
    }

    /// Connects the independent client.
    func client(_ arguments: [String] = ["--token", "key-all"]) async throws -> PythonPeer {
        let client = try PythonPeer("ws_client.py", [url] + arguments)
        try await client.line("connected", within: .seconds(60)) {
            $0["opened"] != nil || $0["refused"] != nil
        }
        return client
    }

    var url: String { "ws://127.0.0.1:\(port)/v1/stream" }

    /// Requests an event stream with the independent client, and waits for the head.
    func stream(
        _ path: String,
        _ arguments: [String] = ["--token", "key-all"]
    ) async throws -> PythonPeer {
        let client = try PythonPeer(
            "sse_client.py",
            ["http://127.0.0.1:\(port)\(path)"] + arguments
        )
        try await client.line("answered", within: .seconds(60)) { $0["status"] != nil }
        return client
    }

    /// Enqueues a source with a known client secret.
    func enqueue(_ source: String, secret: String) async throws {
        let id = SourceID(unchecked: source)
        _ = try await store.enqueue([
            try NewWatch(
                key: WatchKey(account: .main, source: id, kind: .source),
                clientSecret: ClientSecret(unchecked: secret)
            )
        ])
    }
}

extension PythonPeer {
    /// The messages received so far.
    var received: [JSONLine] { lines.compactMap { $0["received"] } }

    /// Waits for a message with this `op` that `matches`.
    @discardableResult
    func message(
        _ op: String,
        within limit: Duration = .seconds(60),
        _ matches: (JSONLine) -> Bool = { _ in true }
    ) async throws -> JSONLine {
        let line = try await line("a message \(op)", within: limit) { line in
            line["received"].map { $0["op"]?.string == op && matches($0) } ?? false
        }
        return line["received"] ?? line
    }

    /// The `source:status` of the events received so far, in order.
    var events: [String] {
        received.compactMap { message in
            guard let event = message["event"], let source = event["source"]?.string,
                let status = event["status"]?.string
            else { return nil }
            return "\(source):\(status)"
        }
    }

    /// The messages of an event stream so far, each with `event`, `id` and `data`.
    var messages: [JSONLine] { lines.compactMap { $0["message"] } }

    /// The `source:status` of an event stream's events so far, in order.
    var delivered: [String] {
        messages.compactMap { message in
            guard message["event"]?.string == "message", let data = message["data"],
                let source = data["source"]?.string, let status = data["status"]?.string
            else { return nil }
            return "\(source):\(status)"
        }
    }

    /// Waits for a message of an event stream with this name that `matches`.
    @discardableResult
    func streamed(
        _ event: String,
        within limit: Duration = .seconds(60),
        _ matches: (JSONLine) -> Bool = { _ in true }
    ) async throws -> JSONLine {
        let line = try await line("a message \(event)", within: limit) { line in
            line["message"].map { $0["event"]?.string == event && matches($0) } ?? false
        }
        return line["message"] ?? line
    }

    /// The status of the response.
    var status: Int? { lines.first?["status"]?.int }

    /// Returns a header of the response, by its name in lower case.
    func header(_ name: String) -> String? { lines.first?["headers"]?[name]?.string }

    /// Waits for the end of an event stream.
    func ended(within limit: Duration = .seconds(60)) async throws {
        try await line("ended", within: limit) { $0["ended"] != nil }
    }

    /// Waits for the close code.
    func closeCode(within limit: Duration = .seconds(60)) async throws -> Int? {
        try await line("closed", within: limit) { $0["closed"] != nil }["closed"]?.int
    }
}

/// Records an issue; for the `else` of a guard that ends a test.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
