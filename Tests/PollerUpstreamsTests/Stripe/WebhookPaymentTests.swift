import Foundation
import PollerHints
import PollerIdentity
import PollerOperations
import PollerRedis
import PollerTesting
import PollerUpstreams
import PollerWatches
import RedisClient
import StripeAPI
import Synchronization
import Testing

/// Tests events that name their payment in other ways than by their own object.
@Suite("Webhooks that name a payment", .serialized)
struct WebhookPaymentTests {
    private static let secret = "whsec_1"
    private static let now = Timestamp(ms: 1_795_000_000_000)

    private func intake(
        _ rig: AccountRig,
        enqueues: Bool = true,
        events: (any AccountEvents)? = nil,
        health: WebhookHealth = .unknown
    ) -> StripeWebhooks {
        StripeWebhooks(
            accounts: [
                .main: .init(secrets: ["whsec_0", Self.secret], isLive: false, connected: .all)
            ],
            tolerance: .seconds(300),
            watches: rig.watches,
            marks: rig.store,
            events: events ?? StripeEvents(accounts: rig.accounts),
            enqueuer: enqueues ? Enqueuer(watches: rig.watches, deliveries: rig.deliveries) : nil,
            health: health,
            wallClock: { Self.now },
            logger: AccountRig.quiet
        )
    }

    private func receive(
        _ intake: StripeWebhooks,
        _ body: String,
        secret: String = secret,
        age: Int64 = 0
    ) async throws -> WebhookOutcome {
        let header = WebhookSignature.header(
            payload: Data(body.utf8),
            secret: secret,
            timestamp: Self.now.ms / 1000 - age
        )
        return try await intake.receive(Array(body.utf8), signature: header, account: .main)
    }

    private static func event(_ type: String, _ object: String, more: String = "") -> String {
        #"{"id":"evt_\#(type)","object":"event","type":"\#(type)","livemode":false,\#(more)"#
            + #""data":{"object":\#(object)}}"#
    }

    private static func thin(_ type: String, _ related: String, context: String = "null") -> String
    {
        #"{"id":"evt_test_65","object":"v2.core.event","type":"\#(type)","livemode":false,"#
            + #""created":"2026-11-27T00:00:00.000Z","context":\#(context),"related_object":\#(related)}"#
    }

    private static func key(
        _ id: String,
        _ kind: SourceKind,
        of account: AccountID = .main
    ) -> WatchKey {
        WatchKey(account: account, source: SourceID(unchecked: id), kind: kind)
    }

    @Test(
        "an intent that an event names is enqueued if it has no watch",
        arguments: [
            ("checkout.session.completed", #"{"id":"cs_test_1","payment_intent":"pi_1"}"#),
            (
                "checkout.session.async_payment_succeeded",
                #"{"id":"cs_test_1","payment_intent":{"id":"pi_1","object":"payment_intent"}}"#
            ),
            (
                "checkout.session.completed",
                #"{"id":"cs_1","payment_intent":null,"setup_intent":"seti_1"}"#
            ),
            ("charge.succeeded", #"{"id":"ch_1","payment_intent":"pi_1","source":null}"#),
            ("charge.dispute.created", #"{"id":"du_1","charge":"ch_1","payment_intent":"pi_1"}"#),
            ("invoice.payment_failed", #"{"id":"in_1","payment_intent":"pi_1","charge":"ch_1"}"#),
            (
                "invoice_payment.paid",
                #"{"id":"inpay_1","payment":{"type":"payment_intent","payment_intent":"pi_1"}}"#
            ),
            (
                "invoice.paid",
                #"{"id":"in_1","payments":{"data":[{"payment":{"payment_intent":"pi_1"}}]}}"#
            ),
        ]
    )
    func named(type: String, object: String) async throws {
        try await AccountRig.run { rig async throws in
            let key =
                object.contains("seti_1")
                ? Self.key("seti_1", .setupIntent) : Self.key("pi_1", .paymentIntent)
            let idle = try await receive(intake(rig, enqueues: false), Self.event(type, object))
            #expect(idle == .accepted(hinted: 0, enqueued: 0))
            #expect(try await rig.watches.snapshot(of: key) == nil)
            for name in try await keys(rig) {
                _ = try await rig.redis.send(.init("DEL", [.string(name)]))
            }
            let outcome = try await receive(intake(rig), Self.event(type, object))
            #expect(outcome == .accepted(hinted: 0, enqueued: 1))
            #expect(try await rig.watches.snapshot(of: key) != nil)
        }
    }

    private func keys(_ rig: AccountRig) async throws -> [String] {
        let reply = try await rig.redis.send(.init("KEYS", [.string("t:mark*")]))
        return (reply.array ?? []).compactMap(\.string)
    }

    @Test(
        "a source that a charge names is not enqueued, because it could be charged again"
    )
    func charged() async throws {
        try await AccountRig.run { rig async throws in
            let charge = #"{"id":"ch_1","payment_intent":null,"source":{"id":"src_1"}}"#
            let outcome = try await receive(intake(rig), Self.event("charge.succeeded", charge))
            #expect(outcome == .accepted(hinted: 0, enqueued: 0))
            #expect(try await rig.watches.snapshot(of: rig.key("src_1")) == nil)
        }
    }

    @Test("an event of another type does not enqueue the intent that it names")
    func others() async throws {
        try await AccountRig.run { rig async throws in
            let fee = Self.event(
                "application_fee.created",
                #"{"id":"fee_1","payment_intent":"pi_1"}"#
            )
            #expect(try await receive(intake(rig), fee) == .accepted(hinted: 0, enqueued: 0))
        }
    }

    @Test("a thin event hints and enqueues the object that it names")
    func thin() async throws {
        try await AccountRig.run { rig async throws in
            let key = Self.key("pi_1", .paymentIntent)
            let related = #"{"id":"pi_1","type":"payment_intent","url":"/v1/payment_intents/pi_1"}"#
            let body = Self.thin("v1.payment_intent.processing", related)
            #expect(try await receive(intake(rig), body) == .accepted(hinted: 0, enqueued: 1))
            #expect(try await rig.watches.snapshot(of: key) != nil)
            // The event with its object about the same change is not a second hint.
            let twin = Self.event("payment_intent.processing", #"{"id":"pi_1"}"#)
            #expect(try await receive(intake(rig), twin) == .duplicate)
            let later = body.replacing("evt_test_65", with: "evt_test_66")
                .replacing("processing", with: "succeeded")
            #expect(try await receive(intake(rig), later) == .accepted(hinted: 1, enqueued: 0))
        }
    }

    @Test("a thin event of a charge hints the source or intent that Stripe returns for it")
    func thinCharge() async throws {
        struct Charge: Decodable { let id: String }
        try await AccountRig.run { rig async throws in
            let source = try await rig.makeSource()
            try await rig.set(source, "chargeable")
            let form = [("source", source), ("amount", "1099"), ("currency", "eur")]
            let charge = try await rig.sandbox.post("/v1/charges", form: form).decode(Charge.self)
                .id
            try await rig.watch(source)
            let related = #"{"id":"\#(charge)","type":"charge","url":"/v1/charges/\#(charge)"}"#
            let body = Self.thin("v1.charge.succeeded", related)
            #expect(try await receive(intake(rig), body) == .accepted(hinted: 1, enqueued: 0))
            #expect(try await rig.hintedAt(source) != nil)
        }
    }

    @Test(
        "a thin event of any other object is ignored",
        arguments: [
            ("v2.core.account[requirements].updated", #"{"id":"acct_1","type":"v2.core.account"}"#),
            ("v2.core.event_destination.ping", "null"),
            ("v1.billing.meter.error_report_triggered", "null"),
            ("v2.money_management.transaction.created", #"{"id":"trxn_1"}"#),
        ]
    )
    func thinOthers(type: String, related: String) async throws {
        try await AccountRig.run { rig async throws in
            let outcome = try await receive(intake(rig), Self.thin(type, related))
            #expect(outcome.name == "ignored", "\(outcome)")
        }
    }

    @Test("an event may be large, and undecodable text in it is replaced")
    func bodies() async throws {
        try await AccountRig.run { rig async throws in
            try await rig.watch("src_1")
            let note = String(repeating: "x", count: 3_000_000)
            let large = Self.event("source.failed", #"{"id":"src_1","note":"\#(note)"}"#)
            #expect(try await receive(intake(rig), large) == .accepted(hinted: 1, enqueued: 0))
            let half = Self.event("source.canceled", #"{"id":"src_1","note":"Thanks \ud83d"}"#)
            #expect(try await receive(intake(rig), half) == .accepted(hinted: 1, enqueued: 0))
            var bytes = Array(
                Self.event("source.chargeable", #"{"id":"src_1","note":"NOTE"}"#).utf8
            )
            let place = try #require(bytes.firstRange(of: Array("NOTE".utf8)))
            bytes[place.lowerBound] = 0xFF
            let header = WebhookSignature.header(
                payload: bytes,
                secret: Self.secret,
                timestamp: Self.now.ms / 1000
            )
            let outcome = try await intake(rig).receive(bytes, signature: header, account: .main)
            #expect(outcome == .accepted(hinted: 1, enqueued: 0))
        }
    }

    @Test("an organisation's key reads the accounts that events name and sends Stripe-Context")
    func organisation() async throws {
        try await AccountRig.run { rig async throws in
            let configuration = StripeClientConfiguration(
                key: StripeKey("sk_org_test_1"),
                baseURL: rig.base
            )
            let accounts = StripeAccounts([.main: configuration])
            let account = AccountID(unchecked: "acct_5")
            let client = try #require(accounts.client(for: account))
            struct Made: Decodable { let id: String }
            let source = try await client.post("/v1/sources", form: [("type", "card")])
                .decode(Made.self).id
            let event = try #require(
                try await client.listEvents(limit: 100).data.first { $0.objectID == source }
            )
            #expect(accounts.client(for: .main) == nil, "an organisation has no objects of its own")
            let intake = intake(rig, events: StripeEvents(accounts: accounts))
            for (claim, name) in [(#""acct_5""#, "accepted"), (#""acct_6""#, "refused")] {
                let body = Self.event(
                    event.type,
                    #"{"id":"\#(source)"}"#,
                    more: #""context":\#(claim),"#
                )
                .replacing("evt_\(event.type)", with: event.id)
                #expect(try await receive(intake, body).name == name, "\(claim)")
            }
            let key = Self.key(source, .source, of: account)
            #expect(try await rig.watches.snapshot(of: key) != nil)
        }
    }

    @Test("refused webhooks are recorded with their reason until one is accepted")
    func health() async throws {
        try await AccountRig.run { rig async throws in
            let time = Mutex(Self.now)
            let health = WebhookHealth(store: rig.store) { time.withLock { $0 } }
            let intake = intake(rig, health: health)
            let body = Self.event("source.failed", #"{"id":"src_1"}"#)
            func pass(_ span: Duration) { time.withLock { $0 = $0 + span } }

            #expect(try await receive(intake, body, secret: "whsec_other").name == "refused")
            var refused = try await rig.store.refusedWebhooks()
            #expect(refused.map(\.reason) == [.secret] && refused.map(\.count) == [1])
            #expect(refused.allSatisfy { !$0.needsAttention }, "anybody can post one")

            // At most one write per second; refusals in between are counted by the next write.
            for _ in 0..<5 { _ = try await receive(intake, body, secret: "whsec_other") }
            pass(.seconds(1))
            _ = try await receive(intake, body, secret: "whsec_other")
            refused = try await rig.store.refusedWebhooks()
            #expect(refused.map(\.count) == [7] && refused.allSatisfy(\.needsAttention))

            // The second secret fits but the clock is wrong, so the clock is reported.
            pass(.seconds(1))
            _ = try await receive(intake, body, age: 600)
            pass(.seconds(1))
            _ = try await receive(intake, body, secret: "whsec_other")
            refused = try await rig.store.refusedWebhooks()
            #expect(refused.map(\.reason) == [.clock] && refused.map(\.count) == [9])
            #expect(refused.first?.message.contains("600 s ago") == true)

            // A signature from the future shows a wrong clock, so the trouble continues.
            pass(.seconds(1))
            let future = Self.event("source.canceled", #"{"id":"src_1"}"#)
            #expect(try await receive(intake, future, age: -600).name == "accepted")
            refused = try await rig.store.refusedWebhooks()
            #expect(refused.map(\.reason) == [.ahead] && refused.allSatisfy(\.needsAttention))
            #expect(refused.first?.message.contains("600 s in the future") == true)

            pass(.seconds(1))
            #expect(try await receive(intake, body).name == "accepted")
            #expect(try await rig.store.refusedWebhooks().isEmpty)
        }
    }

    @Test("an unsigned webhook is not recorded, and a refusal is recent for a day")
    func strangers() async throws {
        try await AccountRig.run { rig async throws in
            let health = WebhookHealth(store: rig.store) { Self.now }
            let intake = intake(rig, health: health)
            for signature in [nil, "", "t=1", "v1=0", "t=x,v1=0"] {
                _ = try await intake.receive(Array("{}".utf8), signature: signature, account: .main)
            }
            #expect(try await rig.store.refusedWebhooks().isEmpty)
            _ = try await receive(intake, "{}", secret: "whsec_other")
            let one = try #require(try await rig.store.refusedWebhooks().first)
            #expect(one.isRecent(at: Self.now + .seconds(86_400)))
            #expect(!one.isRecent(at: Self.now + .seconds(86_401)))
        }
    }
}
