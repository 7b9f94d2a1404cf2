import Foundation
import PollerHints
import PollerIdentity
import PollerRedis
import PollerUpstreams
import PollerWatches
import RedisClient
import StripeAPI
import Testing

@Suite("Stripe's webhooks", .serialized)
struct StripeWebhooksTests {
    private static let secret = "whsec_new"
    private static let now = Timestamp(ms: 1_795_000_000_000)

    private func intake(
        _ rig: AccountRig,
        isLive: Bool? = nil,
        enqueues: Bool = false,
        limits: AccountLimits = .none
    ) -> StripeWebhooks {
        StripeWebhooks(
            accounts: [.main: .init(secrets: ["whsec_old", Self.secret], isLive: isLive)],
            tolerance: .seconds(300),
            watches: rig.watches,
            marks: rig.store,
            enqueuer: enqueues ? Enqueuer(watches: rig.watches, deliveries: rig.deliveries) : nil,
            openWatches: OpenWatchLimit(
                { limits },
                accountCounts: rig.accountCounts,
                elapsed: { .zero },
                logger: AccountRig.quiet
            ),
            wallClock: { Self.now },
            logger: AccountRig.quiet
        )
    }

    private func body(
        _ source: String,
        event: String = "evt_1",
        type: String = "source.chargeable",
        extra: String = ""
    ) -> String {
        #"{"id":"\#(event)","object":"event","type":"\#(type)","created":1,"livemode":false,"#
            + #""data":{"object":{"id":"\#(source)","status":"chargeable"\#(extra)}}}"#
    }

    private func receive(
        _ intake: StripeWebhooks,
        _ body: String,
        secret: String = secret,
        age: Int64 = 0,
        tampered: Bool = false,
        account: AccountID = .main
    ) async throws -> WebhookOutcome {
        let header = WebhookSignature.header(
            payload: Data(body.utf8),
            secret: secret,
            timestamp: Self.now.ms / 1000 - age
        )
        let sent = tampered ? body.replacing("chargeable", with: "consumed  ") : body
        return try await intake.receive(Array(sent.utf8), signature: header, account: account)
    }

    @Test("a signed event makes the open watch due now, with either secret")
    func hints() async throws {
        try await AccountRig.run { rig in
            try await rig.watch("src_1")
            #expect(try await rig.hintedAt("src_1") == nil)
            let outcome = try await receive(intake(rig), body("src_1"), secret: "whsec_old")
            #expect(outcome == .accepted(hinted: 1, enqueued: 0))
            #expect(try await rig.hintedAt("src_1") != nil)
        }
    }

    @Test(
        "a wrong secret, an old or missing signature and a changed body are refused"
    )
    func refused() async throws {
        try await AccountRig.run { rig in
            try await rig.watch("src_1")
            let intake = intake(rig)
            let text = body("src_1")
            let outcomes = [
                try await receive(intake, text, secret: "whsec_other"),
                try await receive(intake, text, age: 301),
                try await receive(intake, text, tampered: true),
                try await intake.receive(Array(text.utf8), signature: nil, account: .main),
                try await receive(intake, "[]"),
            ]
            for outcome in outcomes { #expect(outcome.name == "refused", "\(outcome)") }
            #expect(try await rig.hintedAt("src_1") == nil)
            #expect(try await receive(intake, text, age: 300).name == "accepted")
        }
    }

    @Test("the same event and another event about the same change are duplicates")
    func duplicates() async throws {
        try await AccountRig.run { rig in
            try await rig.watch("src_1")
            let intake = intake(rig)
            #expect(try await receive(intake, body("src_1")).name == "accepted")
            #expect(try await receive(intake, body("src_1")) == .duplicate)
            #expect(try await receive(intake, body("src_1", event: "evt_2")) == .duplicate)
            let other = body("src_1", event: "evt_3", type: "source.canceled")
            #expect(try await receive(intake, other) == .accepted(hinted: 1, enqueued: 0))
            // Every mark expires automatically.
            for key in try await keys(rig, "t:mark*") {
                let left = try await rig.redis.send(RedisCommand("PTTL", [.string(key)])).int
                #expect((1...3_600_000).contains(left ?? -1), "\(key)")
            }
        }
    }

    @Test("a test event at a live account is ignored")
    func livemode() async throws {
        try await AccountRig.run { rig in
            try await rig.watch("src_1")
            let outcome = try await receive(intake(rig, isLive: true), body("src_1"))
            #expect(outcome.name == "ignored")
            #expect(try await rig.hintedAt("src_1") == nil)
        }
    }

    @Test(
        "an unknown source is enqueued only if configured, and a closed watch stays closed"
    )
    func unknown() async throws {
        try await AccountRig.run { rig in
            let outcome = try await receive(intake(rig), body("src_1"))
            #expect(outcome == .accepted(hinted: 0, enqueued: 0))
            #expect(try await rig.watches.snapshot(of: rig.key("src_1")) == nil)
            let eager = intake(rig, enqueues: true)
            #expect(
                try await receive(eager, body("src_2", event: "evt_2"))
                    == .accepted(hinted: 0, enqueued: 1)
            )
            _ = try await rig.watches.cancel(rig.key("src_2"))
            let late = body("src_2", event: "evt_3", type: "source.canceled")
            #expect(try await receive(eager, late) == .accepted(hinted: 0, enqueued: 0))
            #expect(try await rig.watches.snapshot(of: rig.key("src_2"))?.watch.run == 1)
        }
    }

    @Test("at an account's limit an unknown source is refused, and enqueued on a later delivery")
    func limited() async throws {
        try await AccountRig.run { rig in
            try await rig.watch("src_1")
            let limits = AccountLimits(standard: AccountLimit(watches: 1, endpoints: 0))
            let eager = intake(rig, enqueues: true, limits: limits)
            #expect(
                try await receive(eager, body("src_1")) == .accepted(hinted: 1, enqueued: 0),
                "what is watched is hinted"
            )
            let newSource = body("src_2", event: "evt_2")
            let refusal = TooManyWatches(account: .main, most: 1, open: 1, asked: 1)
            for _ in 0..<2 {
                #expect(try await receive(eager, newSource) == .tooManyWatches(refusal))
            }
            _ = try await rig.watches.cancel(rig.key("src_1"))
            #expect(try await receive(eager, newSource) == .accepted(hinted: 0, enqueued: 1))
        }
    }

    @Test("a charge hints its source")
    func related() async throws {
        try await AccountRig.run { rig in
            try await rig.watch("src_1")
            let charge = body(
                "ch_1",
                type: "charge.succeeded",
                extra: #","source":{"id":"src_1"}"#
            )
            #expect(try await receive(intake(rig), charge) == .accepted(hinted: 1, enqueued: 0))
        }
    }

    @Test("an account without a secret is unknown, and an event of another object is ignored")
    func others() async throws {
        try await AccountRig.run { rig in
            let other = AccountID(unchecked: "other")
            let unknown = try await receive(intake(rig), body("src_1"), account: other)
            #expect(unknown == .unknownAccount)
            let customer = body("cus_1", type: "customer.created")
            let ignored = try await receive(intake(rig), customer)
            #expect(ignored.name == "ignored")
        }
    }

    @Test(
        "an event with an invalid ID or type is refused",
        arguments: [
            ("evt_1", "source chargeable"), ("evt_1", ""), ("evt|1", "source.chargeable"),
            ("", "source.chargeable"), ("evt_1", String(repeating: "x", count: 101)),
            (String(repeating: "e", count: 256), "source.chargeable"),
        ]
    )
    func words(event: String, type: String) async throws {
        try await AccountRig.run { rig in
            try await rig.watch("src_1")
            let outcome = try await receive(
                intake(rig),
                body("src_1", event: event, type: type)
            )
            #expect(outcome.name == "refused", "\(outcome)")
            #expect(try await rig.hintedAt("src_1") == nil)
        }
    }

    private func keys(_ rig: AccountRig, _ pattern: String) async throws -> [String] {
        let reply = try await rig.redis.send(RedisCommand("KEYS", [.string(pattern)]))
        return (reply.array ?? []).compactMap(\.string)
    }
}
