import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerTesting
import PollerWatches
import Synchronization
import Testing

@testable import PollerGateway

@Suite("The beginning of a subscription without a connection")
struct CatchUpTests {
    private let store = MemoryStore(time: ClockTime(ContinuousClock()))

    private func subscription(
        to sources: [String],
        of account: String? = nil,
        from: Subscription.Start = .cursor("nonsense"),
        for principal: Principal
    ) throws -> Subscription {
        try Subscription(
            id: "s1",
            account: account,
            sources: sources,
            types: nil,
            from: from,
            principal: principal,
            limits: .standard
        )
    }

    private let cursors = GatewayCursor(
        roots: RootRing(fixed: LiveBench.cursorSecret),
        span: .seconds(60)
    )

    /// Returns the messages of the beginning of a subscription.
    private func messages(of subscription: Subscription) async -> [LiveMessage] {
        let sent = SentMessages()
        var catchUp = CatchUp(
            subscription: subscription,
            store: GatewayStore(outbox: store, watches: store) { nil },
            cursors: cursors,
            deliver: { messages, _ in
                sent.messages.withLock { $0 += messages }
                return true
            }
        )
        guard case .reached = await catchUp.run(from: nil) else {
            Issue.record("the catch-up has failed")
            return []
        }
        return sent.messages.withLock { $0 }
    }

    /// Returns the sources of the snapshots among messages, in order.
    private func snapshots(_ messages: [LiveMessage]) -> [String] {
        messages.compactMap { message in
            guard case .snapshot(let snapshot, _) = message else { return nil }
            return snapshot.watch.key.source.description
        }
    }

    @Test("a snapshot is sent only for an account of the subscription")
    func accounts() async throws {
        try await LiveBench.record("src_1", "pending", store)
        let foreign = Principal(
            name: "two",
            accounts: .some([AccountID(unchecked: "acct_a"), AccountID(unchecked: "acct_b")])
        )
        let refused = try await messages(of: subscription(to: ["src_1"], for: foreign))
        #expect(snapshots(refused).isEmpty)
        let own = Principal(name: "main", accounts: .some([.main]))
        let allowed = try await messages(of: subscription(to: ["src_1"], for: own))
        #expect(snapshots(allowed) == ["src_1"])
    }

    @Test("a source whose ID implies no kind gets its snapshot and events, alone or with others")
    func kinds() async throws {
        let bank = AccountID(unchecked: "bank")
        try await LiveBench.record("pay-1", "open", account: bank, kind: .http, store)
        try await LiveBench.record("src_1", "pending", account: bank, store)
        let event = try #require(
            try await store.events(
                of: WatchKey(account: bank, source: SourceID(unchecked: "pay-1"), kind: .http),
                after: 0,
                limit: 1
            ).first
        )
        let all = Principal(name: "all", accounts: .all)
        for sources in [["pay-1"], ["pay-1", "src_1"]] {
            let subscription = try subscription(to: sources, of: "bank", for: all)
            #expect(subscription.interest.matches(event), "\(sources)")
            #expect(await snapshots(messages(of: subscription)) == sources)
        }
    }

    @Test("a source is settled only when its watches of every kind are closed")
    func settled() async throws {
        let all = Principal(name: "all", accounts: .all)
        let subscription = try subscription(to: ["pay-1"], of: "default", for: all)
        func isSettled() async -> Bool {
            await messages(of: subscription).contains { message in
                if case .settled = message { true } else { false }
            }
        }
        try await LiveBench.record("pay-1", "paid", final: true, kind: .http, store)
        #expect(await isSettled())
        try await LiveBench.record("pay-1", "pending", kind: .source, store)
        #expect(await !isSettled())
    }

    @Test("the last event of a source of two kinds comes before its end, which comes once")
    func settledByEvents() async throws {
        let all = Principal(name: "all", accounts: .all)
        let start = LiveCursor(
            positions: [OutboxPosition](repeating: .start, count: store.partitions)
        )
        let subscription = try subscription(
            to: ["pay-1"],
            of: "default",
            from: .cursor(cursors.encode(start, for: all)),
            for: all
        )
        func names() async -> [String] {
            await messages(of: subscription).compactMap { message -> String? in
                switch message {
                case .event: "event"
                case .settled: "settled"
                default: nil
                }
            }
        }
        try await LiveBench.record("pay-1", "pending", kind: .source, store)
        try await LiveBench.record("pay-1", "paid", final: true, kind: .http, store)
        #expect(await names() == ["event", "event"])
        try await LiveBench.record("pay-1", "failed", final: true, kind: .source, store)
        #expect(await names() == ["event", "event", "event", "settled"])
    }

    @Test("a client secret covers one kind of its source")
    func clientSecret() throws {
        let payer = Principal(
            name: "default/pay-1",
            accounts: .some([.main]),
            credential: .clientSecret,
            sources: [SourceID(unchecked: "pay-1")]
        )
        let subscription = try subscription(to: ["pay-1"], for: payer)
        #expect(subscription.watch?.kind == .source)
    }
}

/// The messages that a catch-up has sent.
private final class SentMessages: Sendable {
    let messages = Mutex<[LiveMessage]>([])
}
