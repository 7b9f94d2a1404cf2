import Foundation
import JSONText
import PollerIdentity
import PollerPayments
import PollerWatches
import StripeAPI
import Testing

@testable import Poller
@testable import PollerUpstreams

@Suite("Transfers and fees of refunded duplicates", .timeLimit(.minutes(5)))
struct RefundSharingTests {
    @Test(
        "a refund takes back the transfer and the fee that the payment has, and no others",
        arguments: [
            (#""application_fee_amount":9,"transfer_data":{"destination":"acct_1"}"#, false, 2),
            (#""application_fee_amount":9,"transfer_data":null"#, true, 1),
            // The key of the account that received the payment cannot return the platform's fee.
            (#""application_fee_amount":9,"transfer_data":null"#, false, 0),
            (#""application_fee_amount":null,"transfer_data":{"destination":"acct_1"}"#, false, 1),
            (#""application_fee_amount":null,"transfer_data":null"#, true, 0),
        ]
    )
    func read(members: String, isPlatform: Bool, count: Int) {
        let object = RawJSON(unchecked: "{\"id\":\"pi_1\",\(members)}")
        let sharing = RefundSharing(of: object, isPlatform: isPlatform)
        #expect(sharing.form.count == count)
        #expect(sharing.form.allSatisfy { $0.1 == "true" })
        #expect(sharing.keySuffix.isEmpty == sharing.form.isEmpty)
    }

    private let first = WatchKey(
        account: .main,
        source: SourceID(unchecked: "pi_first"),
        kind: .paymentIntent
    )

    private func watch(_ id: String, _ kind: SourceKind) -> Watch {
        let start = Timestamp(ms: 1_795_000_000_000)
        return Watch(
            key: WatchKey(account: .main, source: SourceID(unchecked: id), kind: kind),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: 1,
            seq: 1,
            order: OrderID(unchecked: "A77")
        )
    }

    @Test(
        "the transfer of a shop's charge is reversed with its refund, for a charge and a source",
        arguments: [SourceKind.charge, .source],
        [true, false]
    )
    func reversed(kind: SourceKind, isShared: Bool) async throws {
        try await UpstreamRig.run { rig in
            try await rig.set("chargeable")
            var form = [("source", rig.source), ("amount", "1099"), ("currency", "eur")]
            if isShared {
                form.append(("transfer_data[destination]", "acct_1"))
                form.append(("application_fee_amount", "99"))
            }
            let charge = try await rig.sandbox.post("/v1/charges", form: form)
                .decode(StripeAPI.Charge.self)
            let configuration = StripeClientConfiguration(
                key: StripeKey("sk_test_1"),
                baseURL: rig.base
            )
            let charger = StripeCharger(
                accounts: StripeAccounts([.main: configuration]),
                refundingDuplicatesOf: [.main],
                elapsed: { .zero }
            )
            let id = kind == .source ? rig.source : charge.id
            let path = kind == .source ? "/v1/sources/\(id)" : "/v1/charges/\(id)"
            let body = try await rig.sandbox.get(path).body
            let object = String(decoding: body, as: UTF8.self)
            let result = await charger.refundDuplicate(
                watch(id, kind),
                of: first,
                charge: ChargeID(unchecked: charge.id),
                object: RawJSON(unchecked: object),
                timeout: .seconds(8)
            )
            #expect(result == .made)
            let refunds = try await rig.sandbox.get("/v1/refunds")
                .decode(StripeList<JSONValue>.self).data
            let reversal = refunds.first?["transfer_reversal"]?.string
            #expect(refunds.count == 1 && (reversal != nil) == isShared)
        }
    }
}
