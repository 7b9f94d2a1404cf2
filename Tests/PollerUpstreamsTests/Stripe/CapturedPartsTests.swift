import JSONText
import PollerIdentity
import PollerPayments
import Testing

@testable import PollerUpstreams

/// Tests charges of the current API, and of versions before 2025-03-31.basil.
@Suite("Captures and refunds in Stripe's objects")
struct CapturedPartsTests {
    /// A charge whose authorised amount is 1,000 and captured amount is 600.
    private func part(refunded: Int, _ members: String = "") -> String {
        #"{"id":"ch_1","status":"succeeded","amount":1000,"amount_captured":600,"captured":true,"#
            + #""currency":"eur","amount_refunded":\#(refunded)\#(members)}"#
    }

    @Test(
        "the released rest of a partial capture is no refund, before and since 2025-03-31.basil",
        arguments: [
            // Current version: the amount is the refunded part of the captured amount.
            (0, "", "paid 600/1000"), (1, "", "partially_refunded 600/1000 -1"),
            (399, "", "partially_refunded 600/1000 -399"),
            (500, "", "partially_refunded 600/1000 -500"),
            (600, #","refunded":true"#, "refunded 600/1000 -600"),
            // Older versions: 400 of the amount is the released rest.
            (601, "", "partially_refunded 600/1000 -201"),
            (900, "", "partially_refunded 600/1000 -500"),
            (1000, #","refunded":true"#, "refunded 600/1000 -600"),
            (600, #","refunded":false"#, "partially_refunded 600/1000 -200"),
            (400, #","balance_transaction":{"amount":1000,"currency":"eur"}"#, "paid 600/1000"),
            (
                500, #","balance_transaction":{"amount":1000,"currency":"eur"}"#,
                "partially_refunded 600/1000 -100"
            ),
            (
                400, #","balance_transaction":{"amount":600,"currency":"eur"}"#,
                "partially_refunded 600/1000 -400"
            ),
            // A balance transaction in another currency is only useful with an exchange rate.
            (
                500, #","balance_transaction":{"amount":1000,"currency":"usd"}"#,
                "partially_refunded 600/1000 -500"
            ),
            (
                400,
                #","balance_transaction":{"amount":1100,"currency":"usd","exchange_rate":1.1}"#,
                "paid 600/1000"
            ),
            (
                400, #","balance_transaction":{"amount":660,"currency":"usd","exchange_rate":1.1}"#,
                "partially_refunded 600/1000 -400"
            ),
            (
                400,
                #","balance_transaction":{"amount":1634,"currency":"jpy","exchange_rate":163.4}"#,
                "paid 600/1000"
            ),
        ] as [(Int, String, String)]
    )
    func partialCapture(refunded: Int, members: String, expected: String) throws {
        #expect(try word(.charge, part(refunded: refunded, members)) == expected)
    }

    @Test(
        "an ambiguous refunded amount is doubtful unless the list of refunds has no released rest"
    )
    func doubtful() throws {
        func isDoubtful(_ refunded: Int, _ members: String = "") throws -> Bool {
            let charge = try ChargeFacts(charge: json(part(refunded: refunded, members)))
            return try #require(charge).isRefundDoubtful
        }
        #expect(try isDoubtful(400) && isDoubtful(599))
        #expect(try !isDoubtful(399) && !isDoubtful(600, #","refunded":true"#) && !isDoubtful(601))
        #expect(try isDoubtful(400, #","refunds":{"data":[{"amount":400}]}"#))
        #expect(try !isDoubtful(500, #","refunds":{"data":[{"amount":450},{"amount":50}]}"#))
        #expect(
            try !isDoubtful(400, #","balance_transaction":{"amount":600,"currency":"eur"}"#)
        )
    }

    @Test(
        "an intent whose charge contradicts it is `processing` until they agree",
        arguments: [
            (
                "processing", 0, #""paid":false,"captured":true,"amount_captured":1000"#,
                "processing"
            ),
            ("processing", 0, #""paid":true,"captured":true,"amount_captured":1000"#, "processing"),
            ("processing", 0, #""paid":true,"captured":false,"amount_captured":0"#, "processing"),
            (
                "requires_action", 0, #""paid":true,"captured":true,"amount_captured":1000"#,
                "processing"
            ),
            (
                "succeeded", 1000, #""paid":false,"captured":true,"amount_captured":1000"#,
                "processing"
            ),
            ("succeeded", 1000, #""paid":true,"captured":true,"amount_captured":1000"#, "paid"),
        ] as [(String, Int, String, String)]
    )
    func contradictory(status: String, received: Int, charge: String, state: String) throws {
        let text =
            #"{"id":"pi_1","amount":1000,"currency":"eur","status":"\#(status)","#
            + #""amount_received":\#(received),"latest_charge":{"id":"ch_1","#
            + #""status":"succeeded","amount":1000,\#(charge)}}"#
        let sum = state == "paid" ? 1000 : 0
        #expect(try word(.paymentIntent, text) == "\(state) \(sum)/1000")
    }

    @Test("a charge that has succeeded and is unpaid is `processing`")
    func unpaid() throws {
        let text =
            #"{"id":"ch_1","amount":1000,"status":"succeeded","paid":false,"captured":true,"#
            + #""amount_captured":1000}"#
        #expect(try word(.charge, text) == "processing 0/1000")
    }

    @Test(
        "the first of several captures is a partial payment, and the final one completes it",
        arguments: [
            ("requires_capture", 1000, false, 0, "partially_paid held 1000/3000"),
            // The value that the charge itself shows does not matter.
            ("requires_capture", 1000, true, 0, "partially_paid held 1000/3000"),
            ("requires_capture", 1000, false, 1000, "partially_paid held 1000/3000 -1000"),
            ("requires_capture", 0, false, 0, "authorised 0/3000"),
            ("succeeded", 2500, true, 0, "paid 2500/3000"),
            ("succeeded", 3000, true, 0, "paid 3000/3000"),
        ] as [(String, Int, Bool, Int, String)]
    )
    func multicapture(
        status: String,
        captured: Int,
        isCaptured: Bool,
        refunded: Int,
        expected: String
    ) throws {
        let charge =
            #"{"id":"ch_1","status":"succeeded","paid":true,"amount":3000,"#
            + #""amount_captured":\#(captured),"captured":\#(isCaptured),"#
            + #""amount_refunded":\#(refunded)}"#
        let text =
            #"{"id":"pi_1","amount":3000,"currency":"eur","status":"\#(status)","#
            + #""amount_received":\#(captured),"latest_charge":\#(charge)}"#
        #expect(try word(.paymentIntent, text) == expected)
    }
}
