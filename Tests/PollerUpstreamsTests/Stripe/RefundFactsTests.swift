import JSONText
import PollerIdentity
import PollerPayments
import Testing

@testable import PollerUpstreams

@Suite("The payment in a charge's refunds and amounts")
struct RefundFactsTests {
    private func json(_ text: String) throws -> RawJSON {
        try #require(RawJSON(text), "\(text)")
    }

    /// A charge's refund list, newest first, each as `status amount`.
    private func list(_ refunds: [String], more: String = "") -> String {
        let objects = refunds.map { refund in
            let parts = refund.split(separator: " ")
            let status = parts[0] == "null" ? "null" : "\"\(parts[0])\""
            return #"{"object":"refund","status":\#(status),"amount":\#(parts[1])}"#
        }
        return #"{"object":"list","data":[\#(objects.joined(separator: ","))]\#(more)}"#
    }

    private func charge(
        _ total: Int,
        _ refunds: String?,
        of amount: String = #""amount":1000"#
    ) throws -> RawJSON {
        let members = refunds.map { #","refunds":\#($0)"# } ?? ""
        return try json(
            #"{"id":"ch_1","status":"succeeded","captured":true,\#(amount),"#
                + #""refunded":\#(total == 1000),"amount_refunded":\#(total)\#(members)}"#
        )
    }

    private func word(_ object: RawJSON, refunds: RawJSON? = nil) -> String {
        let facts = PaymentFacts(.charge, object: object, refunds: refunds)
        let payment = Payment(facts.following(nil))
        let refund = payment.refund.map { " \($0.status.rawValue) \($0.amount)" } ?? ""
        return "\(payment.state.rawValue) -\(payment.amountReturned)\(refund)"
    }

    @Test(
        "money counts as returned if a refund has succeeded, whatever the charge counts",
        arguments: [
            (1000, ["succeeded 1000"], "refunded -1000"),
            (1000, ["null 1000"], "refunded -1000"),
            (1000, ["pending 1000"], "paid -0 pending 1000"),
            (1000, ["requires_action 1000"], "paid -0 requires_action 1000"),
            (1000, ["pending 700", "succeeded 300"], "partially_refunded -300 pending 700"),
            (1000, ["succeeded 300", "pending 700"], "partially_refunded -300 pending 700"),
            (700, ["requires_action 500", "pending 200"], "paid -0 requires_action 500"),
            (500, ["pending 300", "pending 200"], "paid -0 pending 500"),
            // A failed refund does not count, even if the charge still includes it.
            (0, ["failed 1000"], "paid -0 failed 1000"),
            (1000, ["failed 1000"], "paid -0 failed 1000"),
            (0, ["canceled 1000"], "paid -0 canceled 1000"),
            (300, ["failed 700", "succeeded 300"], "partially_refunded -300 failed 700"),
            // A failed refund is not reported once another refund exists.
            (1000, ["succeeded 1000", "failed 1000"], "refunded -1000"),
            (400, ["pending 400", "failed 1000"], "paid -0 pending 400"),
            (300, ["succeeded 300", "canceled 700"], "partially_refunded -300"),
            (1000, ["succeeded 600", "succeeded 400"], "refunded -1000"),
            // An unknown status is neither returned money nor reported.
            (1000, ["unheard_of 1000"], "paid -0"),
        ]
    )
    func refunds(total: Int, refunds: [String], expected: String) throws {
        #expect(word(try charge(total, list(refunds))) == expected)
        // The result is the same if the list was read separately.
        let apart = try charge(total, nil)
        #expect(word(apart, refunds: try json(list(refunds))) == expected)
        let intent = try json(
            #"{"id":"pi_1","status":"succeeded","amount":1000,"amount_received":1000,"#
                + #""latest_charge":\#(try charge(total, list(refunds)))}"#
        )
        let facts = PaymentFacts(.paymentIntent, object: intent).following(nil)
        #expect(expected.hasPrefix("\(Payment(facts).state.rawValue) "))
    }

    @Test(
        "a missing, empty or cut list leaves the charge's own total without the open refunds"
    )
    func cut() throws {
        for members in [nil, list([])] {
            let object = try charge(1000, members)
            #expect(word(object) == "refunded -1000")
            #expect(try #require(ChargeFacts(charge: object)).lacksRefunds)
        }
        let cut = try charge(
            900,
            list(["pending 100", "succeeded 100"], more: #","has_more":true"#)
        )
        #expect(word(cut) == "partially_refunded -800 pending 100")
        #expect(try #require(ChargeFacts(charge: cut)).lacksRefunds)
        let whole = try charge(900, list(["succeeded 900"]))
        #expect(try !#require(ChargeFacts(charge: whole)).lacksRefunds)
        #expect(try !#require(ChargeFacts(charge: charge(0, nil))).lacksRefunds)
    }

    @Test(
        "the newest of several refunds is the last created one, in any order of the list"
    )
    func newest() throws {
        let rows = [
            #"{"status":"failed","amount":1,"created":5}"#,
            #"{"status":"canceled","amount":2,"created":9}"#,
        ]
        for row in [rows, rows.reversed()] {
            let list = #"{"data":[\#(row.joined(separator: ","))]}"#
            #expect(word(try charge(0, list)) == "paid -0 canceled 2")
        }
    }

    @Test("an older refund that failed after a newer one had succeeded is read from the list")
    func older() throws {
        let (two, one) = (
            try charge(800, list(["succeeded 300", "succeeded 500"])),
            try charge(300, list(["succeeded 300", "failed 500"]))
        )
        let before = try #require(ChargeFacts(charge: two))
        let after = try #require(ChargeFacts(charge: one))
        #expect(after.refund == nil && after.refunded == 300)
        #expect(after.following(before).refund == RefundProgress(.failed, 500))
        // If the failure was not observed, the newer refund counts as its replacement.
        #expect(after.following(after).refund == nil)
    }

    @Test(
        "a captured charge is paid even if none of its amounts is readable",
        arguments: [
            #""amount":null"#, #""amount":"1000""#, #""amount":1e300"#, #""amount":-5"#,
            #""amount":9007199254740992"#, #""currency":"idr""#,
        ]
    )
    func unreadable(amount: String) throws {
        let object = try json(#"{"id":"ch_1","status":"succeeded","captured":true,\#(amount)}"#)
        let facts = PaymentFacts(.charge, object: object).following(nil)
        let paid = Payment(facts)
        #expect(paid.state == .paid && paid.amount == nil && paid.amountReceived == 0)
        // It is remembered as received money, and no later answer without money revokes it.
        let look = PaymentReading(facts, after: nil)
        let memory = PaymentMemory(packed: look.memory.packed)
        #expect(memory.money?.hasUnknownSum == true)
        let none = PaymentFacts(.charge, object: try json("{}"))
        #expect(PaymentReading(none, after: memory).payment.state == .paid)
        let intent = try json(#"{"id":"pi_1","status":"succeeded",\#(amount)}"#)
        #expect(Payment(PaymentFacts(.paymentIntent, object: intent)).state == .paid)
        // An authorisation is not a payment, and neither is an amount of zero.
        let held = try json(#"{"id":"ch_1","status":"succeeded","captured":false,\#(amount)}"#)
        #expect(Payment(PaymentFacts(.charge, object: held)).state == .authorised)
        let nothing = try json(#"{"id":"pi_1","status":"succeeded","amount":0}"#)
        #expect(Payment(PaymentFacts(.paymentIntent, object: nothing)).state == .unknown)
    }

    @Test("if the amount is unreadable, the returned amount is the total refunded")
    func unreadableRefunds() throws {
        let members = #""amount":null"#
        #expect(word(try charge(1000, list(["succeeded 1000"]), of: members)) == "refunded -1000")
        #expect(
            word(try charge(300, list(["succeeded 300"]), of: members)) == "partially_refunded -300"
        )
        #expect(
            word(try charge(1000, list(["pending 1000"]), of: members)) == "paid -0 pending 1000"
        )
    }

    @Test("amounts of twelve digits are read, counted and returned")
    func large() throws {
        let sum = 999_999_999_999
        let object = try json(
            #"{"id":"ch_1","status":"succeeded","captured":true,"currency":"idr","amount":\#(sum),"#
                + #""amount_captured":\#(sum),"amount_refunded":\#(sum),"refunded":true,"#
                + #""refunds":{"data":[{"status":"succeeded","amount":\#(sum)}]}}"#
        )
        let payment = Payment(PaymentFacts(.charge, object: object).following(nil))
        #expect(payment.state == .refunded)
        #expect(
            payment.amountReceived.minorUnits == sum && payment.amountReturned.minorUnits == sum
        )
    }

    @Test("the amount shown to the customer is read, with its returned part if that is given")
    func presentment() throws {
        func shown(_ currency: String, _ total: Int, _ refunds: String) throws -> Presentment? {
            let object = try json(
                #"{"id":"pi_1","status":"succeeded","amount":1000,"amount_received":1000,"currency":"usd","#
                    + #""presentment_details":{"presentment_amount":1500,"presentment_currency":"\#(currency)"},"#
                    + #""latest_charge":{"id":"ch_1","status":"succeeded","captured":true,"amount":1000,"#
                    + #""currency":"usd","amount_refunded":\#(total),"presentment_details":"#
                    + #"{"presentment_amount":1500,"presentment_currency":"\#(currency)"},"#
                    + #""refunds":{"data":[\#(refunds)]}}}"#
            )
            return Payment(PaymentFacts(.paymentIntent, object: object).following(nil)).presentment
        }
        #expect(try shown("JPY", 0, "") == Presentment(amount: 1500, currency: "jpy"))
        let silent = #"{"status":"succeeded","amount":500}"#
        let balance =
            #"{"status":"succeeded","amount":500,"presentment_details":{"presentment_amount":750}}"#
        #expect(try shown("jpy", 500, silent)?.returned == nil)
        #expect(try shown("jpy", 500, balance)?.returned == 750)
        let whole = #"{"status":"succeeded","amount":1000}"#
        #expect(try shown("jpy", 1000, whole)?.returned == 1500)
        #expect(try shown("usd", 0, "") == nil, "the same currency is nothing to say")
    }
}
