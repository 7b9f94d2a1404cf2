import Foundation
import PollerHints
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerRedis
import StripeAPI
import Testing

@testable import PollerUpstreams
@testable import PollerWatches

/// Tests that the notice of a debit is read from Stripe before it is recorded.
extension WebhookAccountsTests {
    /// Creates a watched source with a debit that the sandbox has a notice of.
    private func debit(_ rig: AccountRig) async throws -> (source: String, notice: StripeEvent) {
        struct Made: Decodable { let id: String }
        let source = try await rig.sandbox.post(
            "/v1/sources",
            form: [
                ("type", "sepa_debit"), ("currency", "eur"),
                ("sepa_debit[iban]", "DE89370400440532013000"), ("owner[name]", "Jenny Rosen"),
                ("mandate[notification_method]", "manual"),
            ]
        ).decode(Made.self).id
        let customer = try await rig.sandbox.post("/v1/customers", form: [("source", source)])
            .decode(Made.self).id
        let charge = try await rig.sandbox.post(
            "/v1/charges",
            form: [
                ("amount", "1099"), ("currency", "eur"), ("source", source), ("customer", customer),
            ]
        )
        #expect(charge.status == 200)
        let query = EventQuery(types: ["source.mandate_notification"])
        let events = try await rig.sandbox.listEvents(query).data
        let notice = try #require(
            events.first { $0.data.object["source"]?["id"]?.string == source }
        )
        try await rig.watch(source)
        return (source, notice)
    }

    private func notices(_ rig: AccountRig, _ source: String) async throws -> [MandateNotice] {
        try await rig.watches.events(of: rig.key(source), after: 0, limit: 100)
            .compactMap(\.mandate)
    }

    private static func mandateEvent(_ id: String, _ notice: String, of source: String) -> String {
        event(
            id,
            "source.mandate_notification",
            account: nil,
            object: #"{"id":"\#(notice)","object":"source_mandate_notification","#
                + #""source":{"id":"\#(source)","currency":"usd"},"type":"sepa_debit","#
                + #""amount":99900,"created":9223372036854775807,"reason":"mandate_confirmed","#
                + #""sepa_debit":{"creditor_identifier":"EVIL","last4":"6666"}}"#
        )
    }

    @Test("a debit is recorded as Stripe returns it, not as the webhook describes it")
    func notice() async throws {
        try await AccountRig.run { rig in
            let (source, event) = try await debit(rig)
            let id = try #require(event.objectID)
            let intake = intake(rig, events: StripeEvents(accounts: rig.accounts))
            let body = Self.mandateEvent(event.id, id, of: source)
            #expect(try await receive(intake, body) == .accepted(hinted: 1, enqueued: 0))
            #expect(try await receive(intake, body) == .duplicate)
            let found = try await notices(rig, source)
            #expect(found.map(\.id) == [id])
            #expect(found.first == StripeEvent.notice(event.data.object))
            #expect(
                found.first?.creditor == "TEST42ZZZ0000424242" && found.first?.currency == "eur"
            )
        }
    }

    @Test(
        "a debit that is unknown to Stripe or of another source is refused and not recorded"
    )
    func forgedNotice() async throws {
        try await AccountRig.run { rig in
            let (source, event) = try await debit(rig)
            let (other, _) = try await debit(rig)
            let id = try #require(event.objectID)
            let intake = intake(rig, events: StripeEvents(accounts: rig.accounts))
            for (notice, claimed) in [
                ("srcmn_forged", source), (id, other), ("../../../v1/x", source),
            ] {
                let body = Self.mandateEvent("evt_forged", notice, of: claimed)
                let outcome = try await receive(intake, body)
                #expect(outcome.name == "refused", "\(notice) of \(claimed): \(outcome)")
            }
            #expect(try await notices(rig, source).isEmpty)
            #expect(try await notices(rig, other).isEmpty)
            // The forged events left no mark, so the true event is still accepted.
            let outcome = try await receive(intake, Self.mandateEvent("evt_forged", id, of: source))
            #expect(outcome == .accepted(hinted: 1, enqueued: 0))
        }
    }

    @Test("a notice is recorded for its source only, not for other objects of its event")
    func otherSubjects() async throws {
        try await AccountRig.run { rig in
            let (source, event) = try await debit(rig)
            let (victim, _) = try await debit(rig)
            let id = try #require(event.objectID)
            let intake = intake(rig, events: StripeEvents(accounts: rig.accounts))
            let body = Self.mandateEvent(event.id, id, of: source)
                .replacing(
                    #""reason":"#,
                    with: #""charge":"\#(victim)","payment_intent":"pi_1","reason":"#
                )
            #expect(try await receive(intake, body) == .accepted(hinted: 1, enqueued: 0))
            #expect(try await notices(rig, source).count == 1)
            #expect(try await notices(rig, victim).isEmpty)
        }
    }

    @Test("a debit is not recorded while Stripe is unavailable, and is on a later delivery")
    func unanswered() async throws {
        try await AccountRig.run { rig in
            let (source, event) = try await debit(rig)
            let id = try #require(event.objectID)
            let intake = intake(rig, events: StripeEvents(accounts: rig.accounts))
            let fault = #"{"match":"/v1/sources/","mode":"status","status":500,"times":1}"#
            #expect(try await Control(base: rig.base).post("/_sandbox/faults", json: fault) == 201)
            let body = Self.mandateEvent(event.id, id, of: source)
            await #expect(throws: StoreError.self) { try await receive(intake, body) }
            #expect(try await notices(rig, source).isEmpty)
            #expect(try await receive(intake, body) == .accepted(hinted: 1, enqueued: 0))
            #expect(try await notices(rig, source).count == 1)
        }
    }

    @Test("without a key that may read a debit, the sweep records it")
    func unreadable() async throws {
        try await AccountRig.run { rig in
            let (source, event) = try await debit(rig)
            let id = try #require(event.objectID)
            let body = Self.mandateEvent(event.id, id, of: source)
            let publishable = StripeClientConfiguration(
                key: StripeKey("pk_test_1"),
                baseURL: rig.base
            )
            for accounts in [StripeAccounts([:]), StripeAccounts([.main: publishable])] {
                let intake = intake(rig, events: StripeEvents(accounts: accounts))
                #expect(try await receive(intake, body).name == "ignored")
            }
            #expect(try await receive(intake(rig, events: nil), body).name == "ignored")
            #expect(try await notices(rig, source).isEmpty)
            let sweep = HintIntake(watches: rig.watches, marks: rig.store, events: nil)
            let result = try await sweep.hint(event.asHint, of: .main, isWebhook: false)
            #expect(result == .hinted(1))
            #expect(try await notices(rig, source).count == 1)
        }
    }
}
