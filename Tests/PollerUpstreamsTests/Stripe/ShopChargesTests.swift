import Foundation
import PollerHints
import PollerIdentity
import PollerNet
import PollerTesting
import SafeNumbers
import StripeAPI
import StripeSandbox
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerUpstreams
@testable import PollerWatches

/// Tests sources that the shop's own backend charges, compared with the charges in the sandbox.
@Suite("Sources that the shop charges", .serialized)
struct ShopChargesTests {
    /// A type of source and its behaviour.
    struct Way: Sendable, CustomTestStringConvertible {
        let type: String
        var isKept = false
        var form: [(String, String)] = []
        var isReceiver = false
        /// Whether the bank decides about a charge later.
        var isSlow = false
        /// Whether the customer is redirected first.
        var isRedirect = false

        var testDescription: String { isKept ? "\(type) of a customer" : type }

        static let all = [
            Way(type: "card", form: card), Way(type: "card", isKept: true, form: card),
            Way(type: "sepa_debit", form: debit, isSlow: true),
            Way(type: "sepa_debit", isKept: true, form: debit, isSlow: true),
            Way(type: "ach_credit_transfer", form: transfer, isReceiver: true),
            Way(type: "ach_credit_transfer", isKept: true, form: transfer, isReceiver: true),
            Way(type: "alipay", form: wallet, isRedirect: true),
            Way(type: "alipay", isKept: true, form: wallet, isRedirect: true),
            Way(type: "ideal", form: [("amount", "1099")], isRedirect: true),
            Way(
                type: "sofort",
                form: [("amount", "1099"), ("sofort[country]", "DE")],
                isSlow: true,
                isRedirect: true
            ),
            Way(
                type: "multibanco",
                form: [("amount", "1099"), ("owner[email]", "a@b.example")],
                isReceiver: true
            ),
        ]

        private static let card = [
            ("card[number]", "4242424242424242"), ("card[cvc]", "123"), ("card[exp_month]", "12"),
            ("card[exp_year]", "2034"),
        ]
        private static let debit = [
            ("sepa_debit[iban]", "DE89370400440532013000"), ("owner[name]", "Jenny Rosen"),
        ]
        private static let transfer = [("owner[email]", "a@b.example")]
        private static let wallet = [("usage", "reusable")]

        var currency: String { type == "ach_credit_transfer" ? "usd" : "eur" }
    }

    enum Payer: String, Sendable, CaseIterable { case us, shopBefore, shopAfter }

    /// A sandbox, a store and a worker that polls the store's watches.
    struct Rig: Sendable {
        let base: String
        let sandbox: StripeClient
        let store: MemoryStore
        let hooks: Bool

        func make(_ way: Way) async throws -> (source: String, customer: String?) {
            var form = [("type", way.type), ("currency", way.currency)] + way.form
            if way.type != "card", way.type != "sepa_debit",
                !way.isReceiver || way.type == "multibanco"
            {
                form.append(("redirect[return_url]", "https://shop.example/back"))
            }
            let source = try await sandbox.post("/v1/sources", form: form).decode(Named.self).id
            if way.isRedirect {
                try await control("sources/\(source)/status", #"{"status":"chargeable"}"#)
            }
            if way.isReceiver {
                try await control("sources/\(source)/payments", #"{"amount":1099}"#)
            }
            guard way.isKept else { return (source, nil) }
            let customer = try await sandbox.post("/v1/customers", form: [("source", source)])
            return (source, try customer.decode(Named.self).id)
        }

        func control(_ path: String, _ json: String) async throws {
            let reply = try await Control(base: base).post("/_sandbox/\(path)", json: json)
            guard reply == 200 else { throw RigFailure(description: "\(path): \(reply)") }
        }

        /// Charges a source like a shop that uses nothing of this product except the name of its order.
        func charge(_ way: Way, _ source: String, _ customer: String?, order: String?) async throws
        {
            var form = [("source", source), ("amount", "1099"), ("currency", way.currency)]
            if let customer { form.append(("customer", customer)) }
            if let order { form.append(("metadata[poller_order]", order)) }
            _ = try await sandbox.post("/v1/charges", form: form, idempotencyKey: "shop-\(source)")
        }

        /// Returns the status of each charge of a source in the sandbox.
        func ledger(_ source: String) async throws -> [String] {
            try await sandbox.get("/v1/charges?limit=100").decode(StripeList<StripeAPI.Charge>.self)
                .data
                .filter { $0.source?.id == source }.map(\.status.rawValue)
        }

        func key(_ source: String) -> WatchKey {
            WatchKey(account: .main, source: SourceID(unchecked: source), kind: .source)
        }

        func payment(_ source: String) async throws -> Payment? {
            try await store.snapshot(of: key(source))?.payment
        }

        /// Delivers the new events about charges, as webhooks do, each event once.
        func deliver(_ seen: inout Set<String>) async throws {
            guard hooks else { return }
            let events = try await sandbox.listEvents(
                EventQuery(types: ["charge.pending", "charge.succeeded", "charge.failed"])
            )
            for event in events.data.reversed() where seen.insert(event.id).inserted {
                let hint = event.asHint
                for subject in hint.subjects {
                    guard let kind = SourceKind(inferredFrom: subject) else { continue }
                    let key = WatchKey(account: .main, source: subject, kind: kind)
                    _ = try await store.hint(key, of: hint.topic)
                }
            }
        }
    }

    struct Named: Decodable { let id: String }

    /// The store's clock, close to the sandbox's clock that dates charges.
    private struct WallTime: StoreTime {
        var now: Timestamp {
            Timestamp(ms: Int64(saturating: Date().timeIntervalSince1970 * 1000))
        }
    }

    private func run(
        hooks: Bool,
        _ body: @escaping @Sendable (Rig) async throws -> Void
    ) async throws {
        try await Sandbox.withRunning(SandboxConfiguration(autoDelay: .milliseconds(50))) { base in
            let configuration = StripeClientConfiguration(
                key: StripeKey("sk_test_1"),
                baseURL: base
            )
            let accounts = StripeAccounts([.main: configuration])
            let store = MemoryStore(time: WallTime(), partitions: 1)
            let clock = ContinuousClock()
            let began = clock.now
            let upstream = StripeUpstream(
                accounts: accounts,
                resolver: SystemResolver(clock: clock),
                wallClock: { WallTime().now }
            )
            let handler = PollHandler(
                upstream: upstream,
                followUps: [
                    ChargeFollowUp(
                        StripeCharger(
                            accounts: accounts,
                            elapsed: { began.duration(to: clock.now) }
                        )
                    )
                ],
                payments: upstream.payments,
                timeout: .seconds(8),
                logger: AccountRig.quiet
            )
            let worker = LeaseWorker(
                name: "worker",
                queue: store as any LeaseQueue<Watch, WatchChange>,
                handler: handler,
                settings: LeaseWorkerSettings(
                    owner: AccountRig.owner,
                    concurrency: 16,
                    lease: .seconds(12),
                    lane: .unlimited,
                    drainTimeout: .seconds(5)
                ),
                clock: clock,
                logger: AccountRig.quiet
            )
            let rig = Rig(
                base: base,
                sandbox: StripeClient(configuration: configuration),
                store: store,
                hooks: hooks
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await worker.run() }
                try await body(rig)
                group.cancelAll()
            }
        }
    }

    static let cases: [(Payer, Bool)] = Payer.allCases.flatMap {
        [($0, true), ($0, false)]
    }

    @Test(
        "a source is paid when the ledger says so, with or without webhooks",
        arguments: ShopChargesTests.cases
    )
    func matrix(payer: Payer, hooks: Bool) async throws {
        try await run(hooks: hooks) { rig in
            for way in Way.all {
                try await self.follow(way, payer, rig)
            }
        }
    }

    private func follow(_ way: Way, _ payer: Payer, _ rig: Rig) async throws {
        let (source, customer) = try await rig.make(way)
        let name = "order-\(source)"
        var seen: Set<String> = []
        if payer == .shopBefore {
            try await rig.charge(way, source, customer, order: name)
            // The bank has decided before the watch starts.
            try await eventually("the bank answers") {
                try await rig.ledger(source) == ["succeeded"]
            }
        }
        let order = payer == .us ? try ChargeInstruction(amount: 1099, currency: way.currency) : nil
        let watch = try NewWatch(
            key: rig.key(source),
            policy: .interactive,
            // Without webhooks a source that stays chargeable is polled until its deadline.
            goal: rig.hooks ? .settled : .final,
            timeout: way.isKept && !rig.hooks ? .seconds(2) : .seconds(60),
            charge: order,
            order: payer == .shopBefore ? OrderID(unchecked: name) : nil
        )
        _ = try await rig.store.enqueue([watch])
        if payer == .shopAfter {
            try await eventually("it was polled") {
                try await rig.store.snapshot(of: rig.key(source))?.watch.state.status == .chargeable
            }
            try await rig.charge(way, source, customer, order: nil)
        }
        // Without webhooks the bank's decision about a shop's charge stays unknown.
        let isOpen = way.isSlow && payer == .shopAfter && !rig.hooks
        let words: Set<PaymentState> = isOpen ? [.paid, .processing] : [.paid]
        do {
            try await eventually("\(way.testDescription), \(payer)", within: .seconds(15)) {
                try await rig.deliver(&seen)
                let payment = try await rig.payment(source)
                return payment.map { words.contains($0.state) } ?? false
            }
        } catch {
            let payment = try await rig.payment(source)
            let ledger = try await rig.ledger(source)
            Issue.record(
                "\(way.testDescription), \(payer), webhooks \(rig.hooks): \(payment as Any), ledger \(ledger)"
            )
            return
        }
        guard !isOpen else { return }
        let payment = try #require(try await rig.payment(source))
        #expect(
            payment.amountReceived == 1099 && payment.currency == way.currency,
            "\(way.testDescription)"
        )
        #expect(try await rig.ledger(source) == ["succeeded"])
    }

    @Test(
        "an older charge of a customer's source does not pay a watch of another order"
    )
    func older() async throws {
        try await run(hooks: true) { rig in
            let card = Way.all[1]
            let (source, customer) = try await rig.make(card)
            try await rig.charge(card, source, customer, order: "another")
            let watch = try NewWatch(
                key: rig.key(source),
                policy: .interactive,
                order: OrderID(unchecked: "mine")
            )
            _ = try await rig.store.enqueue([watch])
            var seen: Set<String> = []
            try await eventually("it was polled") {
                try await rig.deliver(&seen)
                return try await rig.store.snapshot(of: rig.key(source))?.closed != nil
            }
            let payment = try await rig.payment(source)
            #expect(payment?.state == .authorised && payment?.reason == .saved)
        }
    }

    @Test("a source that was detached from its customer has not been paid")
    func detached() async throws {
        try await run(hooks: false) { rig in
            let card = Way.all[1]
            let (source, customer) = try await rig.make(card)
            _ = try await rig.store.enqueue([
                NewWatch(key: rig.key(source), policy: .interactive, goal: .final)
            ])
            try await eventually("it was polled") {
                try await rig.store.snapshot(of: rig.key(source))?.watch.state.status == .chargeable
            }
            _ = try await rig.sandbox.delete("/v1/customers/\(customer ?? "")/sources/\(source)")
            try await eventually("it is consumed") {
                try await rig.payment(source)?.state == .unknown
            }
            #expect(try await rig.payment(source)?.reason == .detached)
        }
    }

    @Test("a declined charge by the shop is reported as failed")
    func declined() async throws {
        try await run(hooks: true) { rig in
            let card = Way(
                type: "card",
                isKept: true,
                form: [
                    ("card[number]", "4000000000000341"), ("card[cvc]", "123"),
                    ("card[exp_month]", "12"),
                    ("card[exp_year]", "2034"),
                ]
            )
            let (source, customer) = try await rig.make(card)
            _ = try await rig.store.enqueue([NewWatch(key: rig.key(source), policy: .interactive)])
            try await eventually("it has ended") {
                try await rig.store.snapshot(of: rig.key(source))?.closed != nil
            }
            do throws(StripeError) {
                _ = try await rig.sandbox.post(
                    "/v1/charges",
                    form: [
                        ("source", source), ("customer", customer ?? ""), ("amount", "1099"),
                        ("currency", "eur"),
                    ]
                ).decode(Named.self)
                Issue.record("it was not declined")
            } catch {}
            var seen: Set<String> = []
            try await eventually("the decline is told") {
                try await rig.deliver(&seen)
                return try await rig.payment(source)?.state == .failed
            }
        }
    }
}
