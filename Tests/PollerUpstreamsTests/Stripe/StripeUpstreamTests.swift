import JSONText
import Poller
import PollerIdentity
import PollerNet
import PollerPayments
import PollerWatches
import StripeAPI
import Testing

@testable import PollerUpstreams

@Suite("Result classes of Stripe as upstream")
struct StripeUpstreamTests {
    @Test("a pending source is observed with its object and is not final")
    func pending() async throws {
        try await UpstreamRig.run { rig in
            guard case .observed(let seen) = await rig.poll() else { return fail("not observed") }
            #expect(seen.status.description == "pending")
            #expect(seen.rank == .pending)
            #expect(seen.object?.description.contains("\"amount\":1099") == true)
        }
    }

    @Test(
        "a single-use source has the rank of its status",
        arguments: [
            ("chargeable", .leftPending), ("consumed", .final), ("failed", .final),
            ("canceled", .final),
        ] as [(String, StatusRank)]
    )
    func finality(status: String, rank: StatusRank) async throws {
        try await UpstreamRig.run { rig in
            try await rig.set(status)
            guard case .observed(let seen) = await rig.poll() else { return fail("not observed") }
            #expect(seen.status.description == status)
            #expect(seen.rank == rank)
        }
    }

    @Test("a reusable source that is chargeable stays chargeable")
    func reusable() async throws {
        try await UpstreamRig.run { rig in
            let body = "{\"id\":\"\(rig.source)\",\"status\":\"chargeable\",\"usage\":\"reusable\"}"
            try await rig.fault("status", ",\"status\":200,\"body\":\(body)")
            guard case .observed(let seen) = await rig.poll() else { return fail("not observed") }
            #expect(seen.rank == .steady)
        }
    }

    @Test("an unknown status has left pending and is not final, and missing fields are ignored")
    func unknownStatus() async throws {
        try await UpstreamRig.run { rig in
            let body = "{\"id\":\"\(rig.source)\",\"status\":\"Under_Review\",\"new\":[1]}"
            try await rig.fault("status", ",\"status\":200,\"body\":\(body)")
            guard case .observed(let seen) = await rig.poll() else { return fail("not observed") }
            #expect(seen.status.description == "under_review")
            #expect(seen.rank == .leftPending)
        }
    }

    @Test("a payment intent is polled at its own endpoint")
    func intent() async throws {
        try await UpstreamRig.run { rig in
            let made = try await rig.sandbox.post(
                "/v1/payment_intents",
                form: [("amount", "500"), ("currency", "eur")]
            )
            struct Made: Decodable { let id: String }
            let id = try made.decode(Made.self).id
            guard case .observed(let seen) = await rig.poll(id, kind: .paymentIntent) else {
                return fail("not observed")
            }
            #expect(seen.status.description == "requires_payment_method")
        }
    }

    @Test("a charge is read with its refunds, which explain an ended authorisation")
    func chargeWithRefunds() async throws {
        try await UpstreamRig.run { rig in
            struct Made: Decodable { let id: String }
            try await rig.set("chargeable")
            let form = [
                ("source", rig.source), ("amount", "1099"), ("currency", "eur"),
            ]
            let id = try await rig.sandbox.post("/v1/charges", form: form).decode(Made.self).id
            let refund = try await rig.sandbox.post("/v1/refunds", form: [("charge", id)])
                .decode(Made.self).id
            guard case .observed(let seen) = await rig.poll(id, kind: .charge) else {
                return fail("not observed")
            }
            #expect(seen.object?.description.contains("\"\(refund)\"") == true)
        }
    }

    @Test("more refunds than an expanded list holds are read separately, and fewer are not")
    func manyRefunds() async throws {
        try await UpstreamRig.run { rig in
            struct Made: Decodable { let id: String }
            try await rig.set("chargeable")
            let form = [
                ("source", rig.source), ("amount", "1099"), ("currency", "eur"),
            ]
            let id = try await rig.sandbox.post("/v1/charges", form: form).decode(Made.self).id
            for count in 1...12 {
                if count == 3 {
                    let reply = try await Control(base: rig.base).post(
                        "/_sandbox/refunds/next/status",
                        json: #"{"status":"pending","pending_reason":"insufficient_funds"}"#
                    )
                    #expect(reply == 200)
                }
                let part = [("charge", id), ("amount", "10")]
                _ = try await rig.sandbox.post("/v1/refunds", form: part)
                guard case .observed(let seen) = await rig.poll(id, kind: .charge) else {
                    return fail("not observed")
                }
                #expect((seen.lists.refunds != nil) == (count > 10), "\(count) refunds")
                let key = WatchKey(account: .main, source: SourceID(unchecked: id), kind: .charge)
                let object = try #require(seen.object)
                let facts = try #require(
                    StripePayments().facts(
                        of: key,
                        in: object,
                        charge: nil,
                        lists: seen.lists,
                        seenAt: Timestamp(ms: 1)
                    )
                )
                let back = 10 * (count < 3 ? count : count - 1)
                let payment = Payment(facts.following(nil))
                #expect(payment.amountReturned.minorUnits == back, "\(count) refunds")
                #expect(payment.refund == (count < 3 ? nil : RefundProgress(.pending, 10)))
            }
        }
    }

    @Test("a publishable key polls with the client secret, and without one gives the reason")
    func publishable() async throws {
        try await UpstreamRig.run { rig in
            let known = await rig.poll(key: "pk_test_1", clientSecret: rig.clientSecret)
            guard case .observed = known else { return fail("\(known)") }
            guard case .unaskable(let reason) = await rig.poll(key: "pk_test_1") else {
                return fail("it was asked")
            }
            #expect(reason.contains("client_secret"))
        }
    }

    @Test("404 is gone if Stripe says so")
    func gone() async throws {
        try await UpstreamRig.run { rig in
            #expect(await rig.poll("src_unknown") == .gone)
            try await rig.fault("not_yet", ",\"delay_ms\":300000")
            #expect(await rig.poll() == .gone)
        }
    }

    @Test("an account without a key is left to other workers")
    func unserved() async throws {
        let upstream = StripeUpstream(
            accounts: StripeAccounts([:]),
            resolver: SystemResolver(clock: ContinuousClock()),
            wallClock: { Timestamp(ms: 0) }
        )
        let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)
        let watch = Watch(
            key: key,
            policy: .standard,
            createdAt: Timestamp(ms: 0),
            deadline: Timestamp(ms: 1000),
            run: 1,
            seq: 0
        )
        guard case .unserved(let reason) = await upstream.poll(watch, timeout: .seconds(1)) else {
            return fail("asked")
        }
        #expect(reason.contains("account default") && reason.contains("STRIPE_API_KEY"))
    }

    @Test("a key unknown to Stripe is revoked, and one without permission is unauthorized")
    func unauthorized() async throws {
        try await UpstreamRig.run { rig in
            let result = await rig.poll(key: "sk_other_secretsecret")
            guard case .revoked(let reason) = result else { return fail("\(result)") }
            #expect(result.name == "unauthorized" && !reason.contains("secretsecret"))
            try await rig.fault("status", ",\"status\":403")
            let forbidden = await rig.poll()
            guard case .unauthorized = forbidden else { return fail("\(forbidden)") }
        }
    }

    @Test(
        "429 limits the lane for the time that it names",
        arguments: [("7", 7), ("0", 0), ("-5", 0), ("soon", nil), ("1e12", nil)] as [(String, Int?)]
    )
    func rateLimited(header: String, seconds: Int?) async throws {
        try await UpstreamRig.run { rig in
            try await rig.fault(
                "status",
                ",\"status\":429,\"headers\":{\"Retry-After\":\"\(header)\"}"
            )
            #expect(await rig.poll() == .rateLimited(retryAfter: seconds.map { .seconds($0) }))
        }
    }

    @Test("429 lock_timeout applies to this object alone")
    func locked() async throws {
        try await UpstreamRig.run { rig in
            let body = #"{"error":{"type":"invalid_request_error","code":"lock_timeout"}}"#
            try await rig.fault("status", ",\"status\":429,\"body\":\(body)")
            #expect(await rig.poll() == .lockTimeout)
        }
    }

    @Test("5xx, 408, 409 and 425 are unavailable", arguments: [408, 409, 425, 500, 502, 503, 504])
    func unavailable(status: Int) async throws {
        try await UpstreamRig.run { rig in
            try await rig.fault("status", ",\"status\":\(status)")
            #expect(await rig.poll().name == "unavailable")
        }
    }

    @Test(
        "a lost connection, a silent one and a slow body are unavailable",
        arguments: [
            "reset", "hang", "slow_body", "truncated",
        ]
    )
    func broken(mode: String) async throws {
        try await UpstreamRig.run { rig in
            try await rig.fault(mode)
            let result = await rig.poll(timeout: .milliseconds(500))
            #expect(result.name == "unavailable", "\(result)")
        }
    }

    @Test(
        "an unreadable response is malformed",
        arguments: [
            "half_json", "html", "huge_body", "wrong_type", "wrong_content_type", "gzip",
        ]
    )
    func malformed(mode: String) async throws {
        try await UpstreamRig.run { rig in
            try await rig.fault(mode)
            let result = await rig.poll()
            #expect(result.name == "malformed", "\(result)")
        }
    }

    @Test("a response about another object is malformed")
    func otherObject() async throws {
        try await UpstreamRig.run { rig in
            let body = #"{"id":"src_other","status":"chargeable"}"#
            try await rig.fault("status", ",\"status\":200,\"body\":\(body)")
            #expect(await rig.poll().name == "malformed")
        }
    }

    @Test("an unknown account has no key, and a connected account uses the platform's key")
    func accounts() async throws {
        let platform = StripeClientConfiguration(
            key: StripeKey("sk_test_1"),
            baseURL: "http://127.0.0.1:1"
        )
        let accounts = StripeAccounts([.main: platform])
        #expect(accounts.configuration(for: AccountID(unchecked: "other")) == nil)
        let connected = accounts.configuration(for: AccountID(unchecked: "acct_1"))
        #expect(connected?.account == "acct_1")
        #expect(accounts.configuration(for: .main)?.account == nil)
    }
}

@Suite("The rank of a status")
struct StripeStatusesTests {
    @Test(
        "a status has the rank of its kind, and an intent that requires a new method is pending",
        arguments: [
            (.source, "pending", .pending), (.source, "chargeable", .leftPending),
            (.source, "consumed", .final), (.source, "canceled", .final),
            (.source, "failed", .final), (.source, "brand_new", .leftPending),
            (.paymentIntent, "requires_payment_method", .pending),
            (.paymentIntent, "requires_confirmation", .pending),
            (.paymentIntent, "requires_action", .pending),
            (.paymentIntent, "processing", .pending),
            (.paymentIntent, "requires_capture", .leftPending),
            (.paymentIntent, "succeeded", .final), (.paymentIntent, "canceled", .final),
            (.setupIntent, "requires_action", .pending), (.setupIntent, "processing", .pending),
            (.setupIntent, "succeeded", .final), (.setupIntent, "canceled", .final),
            (.charge, "pending", .pending), (.charge, "succeeded", .final),
            (.charge, "failed", .final),
        ] as [(SourceKind, String, StatusRank)]
    )
    func table(kind: SourceKind, status: String, rank: StatusRank) {
        let status = SourceStatus(unchecked: status)
        #expect(StripeStatuses.rank(status, of: kind, usage: "single_use") == rank)
    }

    @Test("a reusable chargeable source is steady, and a pending one is pending")
    func reusable() {
        let chargeable = SourceStatus(unchecked: "chargeable")
        #expect(StripeStatuses.rank(chargeable, of: .source, usage: "reusable") == .steady)
        #expect(StripeStatuses.rank(chargeable, of: .source, usage: nil) == .leftPending)
        let pending = SourceStatus(unchecked: "pending")
        #expect(StripeStatuses.rank(pending, of: .source, usage: "reusable") == .pending)
        let failed = SourceStatus(unchecked: "failed")
        #expect(StripeStatuses.rank(failed, of: .source, usage: "reusable") == .final)
    }
}
