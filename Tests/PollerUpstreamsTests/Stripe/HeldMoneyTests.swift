import PollerIdentity
import PollerTesting
import StripeAPI
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerUpstreams
@testable import PollerWatches

/// Tests the additional requests for facts that an intent or a charge does not contain.
@Suite("Authorised money at Stripe")
struct HeldMoneyTests {
    /// Creates an authorised intent of 1,000, and returns it with its charge.
    private func hold(_ rig: UpstreamRig) async throws -> (intent: String, charge: String) {
        let form = [
            ("amount", "1000"), ("currency", "eur"), ("payment_method", "pm_card_visa"),
            ("confirm", "true"), ("capture_method", "manual"),
        ]
        let made = try await rig.sandbox.post("/v1/payment_intents", form: form)
            .decode(StripeAPI.PaymentIntent.self)
        return (made.id, try #require(made.latestCharge))
    }

    private func payment(
        _ rig: UpstreamRig,
        _ id: String,
        _ kind: SourceKind
    ) async throws -> Payment {
        guard case .observed(let seen) = await rig.poll(id, kind: kind) else {
            throw RigFailure(description: "not observed")
        }
        let now = Timestamp(ms: 1_795_000_000_000)
        let key = WatchKey(account: .main, source: SourceID(unchecked: id), kind: kind)
        let watch = Watch(
            key: key,
            policy: .standard,
            createdAt: now,
            deadline: now,
            run: 1,
            seq: 0
        )
        let context = PollContext(
            watch,
            at: now,
            payments: StripePayments()
        )
        return Payment(try #require(context.facts(key, seen)).following(nil))
    }

    @Test(
        "an ended authorisation is reported by the intent and by the charge",
        arguments: [true, false]
    )
    func endedHold(isExpired: Bool) async throws {
        try await UpstreamRig.run { rig in
            let (intent, charge) = try await hold(rig)
            #expect(try await payment(rig, charge, .charge).state == .authorised)
            if isExpired {
                let path = "/_sandbox/charges/\(charge)/expire"
                let reply = try await Control(base: rig.base).post(path, json: "{}")
                #expect(reply == 200)
            } else {
                _ = try await rig.sandbox.post("/v1/payment_intents/\(intent)/cancel", form: [])
            }
            for (id, kind) in [(intent, SourceKind.paymentIntent), (charge, .charge)] {
                let seen = try await payment(rig, id, kind)
                #expect(seen.state == (isExpired ? .expired : .cancelled), "\(kind)")
                #expect(isExpired == (seen.reason == .authorisationExpired), "\(kind)")
                #expect(seen.amountReceived == 0 && seen.amountReturned == 0)
            }
        }
    }

    @Test(
        "the returned amount after a partial capture is exact, in both API versions",
        arguments: [nil, "2024-06-20"]
    )
    func refundedPart(version: String?) async throws {
        try await UpstreamRig.run { rig in
            let (intent, charge) = try await hold(rig)
            var shop = rig.sandbox
            if let version { shop.configuration.version = version }
            let part = [("amount_to_capture", "600")]
            _ = try await shop.post("/v1/payment_intents/\(intent)/capture", form: part)
            // After some of these refunds the amount is possible in both versions.
            for (amount, returned) in [(0, 0), (100, 100), (300, 400), (100, 500), (100, 600)]
                as [(Int, Amount)]
            {
                if amount > 0 {
                    let form = [("charge", charge), ("amount", "\(amount)")]
                    _ = try await rig.sandbox.post("/v1/refunds", form: form)
                }
                for (id, kind) in [(intent, SourceKind.paymentIntent), (charge, .charge)] {
                    let seen = try await payment(rig, id, kind)
                    #expect(seen.amountReturned == returned, "\(kind), \(seen)")
                    #expect(seen.amountReceived == 600 && seen.amount == 1000)
                }
            }
        }
    }

    @Test("an intent that disagrees with its charge is not final")
    func notFinal() async throws {
        try await UpstreamRig.run { rig in
            for (paid, rank) in [("false", StatusRank.pending), ("true", .final)] {
                let charge =
                    #"{"id":"ch_1","status":"succeeded","paid":\#(paid),"captured":true,"#
                    + #""amount":5,"amount_captured":5}"#
                let body =
                    #"{"id":"\#(rig.source)","status":"succeeded","amount":5,"#
                    + #""amount_received":5,"latest_charge":\#(charge)}"#
                let fault =
                    #"{"match":"/v1/payment_intents/\#(rig.source)","mode":"status","#
                    + #""status":200,"times":1,"body":\#(body)}"#
                let path = "/_sandbox/faults"
                let made = try await Control(base: rig.base).post(path, json: fault)
                #expect(made == 201)
                guard case .observed(let seen) = await rig.poll(kind: .paymentIntent) else {
                    return fail("not observed")
                }
                #expect(seen.rank == rank, "paid \(paid)")
            }
        }
    }
}
