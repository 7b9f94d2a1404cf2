import JSONText
import PollerIdentity
import PollerPayments
import PollerUpstreams
import Testing

@Suite("The payment in an HTTP upstream's response")
struct HTTPPaymentTests {
    private static let seenAt = Timestamp(ms: 1_795_000_000_000)

    private func payment(
        _ words: [String: String] = [
            "open": "awaiting_customer", "Settled": "paid", "back": "refunded",
            "charged_back": "reversed", "rejected": "failed", "part": "partially_refunded",
        ],
        amount: String? = "/payment/cents",
        format: HTTPPayment.AmountFormat = .auto,
        currency: HTTPPayment.Currency? = nil
    ) throws -> HTTPPayment {
        try HTTPPayment(
            state: JSONPointer("/payment/state"),
            words: words,
            amount: amount.map { try JSONPointer($0) },
            format: format,
            currency: currency ?? .at(JSONPointer("/payment/currency"))
        )
    }

    private func facts(
        _ state: String,
        _ more: String = #","cents":1099,"currency":"EUR""#,
        amount: String? = "/payment/cents"
    ) throws -> PaymentFacts {
        let object = RawJSON(unchecked: #"{"payment":{"state":"\#(state)"\#(more)}}"#)
        return try payment(amount: amount).facts(in: object, seenAt: Self.seenAt)
    }

    @Test("a mapped status sets the payment state regardless of case, with the observed amount")
    func mapped() throws {
        let paid = Payment(try facts("SETTLED").following(nil))
        #expect(paid.state == .paid && paid.amount == 1099 && paid.amountReceived == 1099)
        #expect(paid.currency == "eur" && paid.paidAt == Self.seenAt)
        let open = Payment(try facts("open"))
        #expect(open.state == .awaitingCustomer && open.amount == 1099 && open.amountReceived == 0)
        #expect(Payment(try facts("rejected")).state == .failed)
        let back = Payment(try facts("back"))
        #expect(back.state == .refunded && back.amountReturned == 1099)
        let gone = Payment(try facts("charged_back"))
        #expect(gone.state == .reversed && gone.amountReturned == 1099)
    }

    @Test("an unmapped or missing status leaves the payment `unknown`")
    func unmapped() throws {
        #expect(Payment(try facts("shipped")).state == .unknown)
        let empty = try payment().facts(in: RawJSON(unchecked: "{}"), seenAt: Self.seenAt)
        #expect(Payment(empty).state == .unknown)
    }

    @Test(
        "`paid` requires an observed amount if an amount is configured",
        arguments: [
            "", #","cents":null"#, #","cents":0"#, #","cents":-5"#, #","cents":10.99"#,
            #","cents":"10.9""#, #","cents":"10.990""#, #","cents":{"value":1099}"#,
            #","cents":9223372036854775807"#, #","cents":-9223372036854775808"#,
            #","cents":9007199254740992"#, #","cents":1e308"#, #","cents":"NaN""#,
        ]
    )
    func unseen(more: String) throws {
        #expect(Payment(try facts("settled", more)).state == .unknown)
        #expect(Payment(try facts("part", more)).state == .unknown)
        #expect(Payment(try facts("rejected", more)).state == .failed)
        let unasked = Payment(try facts("settled", more, amount: nil))
        #expect(unasked.state == .paid && unasked.amountReceived == 0)
    }

    @Test(
        "an amount is read in its configured format",
        arguments: [
            // The text, its currency, and its amount as auto, smallest_unit and decimal.
            (#""10.00""#, "EUR", [1000, nil, 1000]), (#""10""#, "EUR", [10, 10, 1000]),
            ("1099", "EUR", [1099, 1099, 109_900]), ("10.99", "EUR", [nil, nil, 1099]),
            ("10.5", "EUR", [nil, nil, 1050]), (#""10.5""#, "EUR", [nil, nil, 1050]),
            (#""10.999""#, "EUR", [nil, nil, nil]), (#""5000""#, "JPY", [5000, 5000, 5000]),
            (#""5000.00""#, "JPY", [nil, nil, 5000]), (#""1.234""#, "KWD", [1234, nil, 1234]),
            (#""5000""#, "ISK", [5000, 5000, 500_000]),
            (#""5000.00""#, "ISK", [500_000, nil, 500_000]),
            (#""0.00""#, "EUR", [nil, nil, nil]), (#""-1.00""#, "EUR", [nil, nil, nil]),
            (#""1,000.00""#, "EUR", [nil, nil, nil]), (#""10.00""#, "", [nil, nil, nil]),
            (#""10.00""#, "euros", [nil, nil, nil]), ("1e3", "EUR", [1000, 1000, 100_000]),
            ("1099.0", "EUR", [1099, 1099, 109_900]), ("1.099E+3", "EUR", [1099, 1099, 109_900]),
            ("109900e-2", "EUR", [1099, 1099, 109_900]), ("1.0995e3", "EUR", [nil, nil, 109_950]),
            ("1e-1", "EUR", [nil, nil, 10]), ("1e400", "EUR", [nil, nil, nil]),
            ("-1099.0", "EUR", [nil, nil, nil]), (#""1e3""#, "EUR", [nil, nil, nil]),
            (#""9999999999.99""#, "IDR", [999_999_999_999, nil, 999_999_999_999]),
            (#""99999999999999.99""#, "EUR", [nil, nil, nil]),
        ] as [(String, String, [Int?])]
    )
    func formats(text: String, currency: String, amounts: [Int?]) throws {
        let object = RawJSON(
            unchecked:
                #"{"payment":{"state":"settled","cents":\#(text),"currency":"\#(currency)"}}"#
        )
        let formats: [HTTPPayment.AmountFormat] = [.auto, .smallestUnit, .decimal]
        for (format, amount) in zip(formats, amounts) {
            let facts = try payment(format: format).facts(in: object, seenAt: Self.seenAt)
            let seen = Payment(facts.following(nil))
            #expect(seen.amount?.minorUnits == amount, "\(format)")
            #expect(seen.state == (amount == nil ? .unknown : .paid), "\(format)")
            #expect(seen.amountReceived.minorUnits == amount ?? 0, "\(format)")
        }
    }

    @Test("decimal amounts require a currency")
    func withoutCurrency() throws {
        let error = #expect(throws: InvalidInput.self) {
            try HTTPPayment(
                state: JSONPointer("/state"),
                words: ["ok": "paid"],
                amount: JSONPointer("/amount"),
                format: .decimal
            )
        }
        #expect(error?.field == "payment.currency")
    }

    @Test("a paid payment stays paid until a status reports that the money was returned")
    func kept() throws {
        var memory: PaymentMemory?
        var reported: [PaymentState] = []
        for word in ["open", "settled", "open", "shipped", "rejected", "settled", "back", "open"] {
            let look = PaymentReading(try facts(word), after: memory)
            if look.hasPaymentChange { reported.append(look.payment.state) }
            memory = PaymentMemory(packed: look.memory.packed)
        }
        #expect(reported == [.paid, .refunded])
    }

    @Test("a constant currency applies, and an invalid currency is omitted")
    func currency() throws {
        let object = RawJSON(unchecked: #"{"payment":{"state":"open","currency":"euros"}}"#)
        let always = try payment(currency: .always("GBP")).facts(in: object, seenAt: Self.seenAt)
        #expect(always.currency == "gbp")
        #expect(try payment().facts(in: object, seenAt: Self.seenAt).currency == nil)
    }

    @Test("an invalid description is rejected with its field and reason")
    func refused() throws {
        for (words, said) in [
            ([:], "must map the words"), (["ok": "done"], "says ok is done"),
            (["ok": "paid", "OK": "failed"], "twice"), (["ok ": "paid", "ok": "failed"], "twice"),
            ([String(repeating: "x", count: 65): "paid"], "no response can match"),
        ] {
            let error = #expect(throws: InvalidInput.self) { try payment(words) }
            #expect(error?.field == "payment.state.map" && error?.message.contains(said) == true)
        }
        let error = #expect(throws: InvalidInput.self) { try payment(currency: .always("euro")) }
        #expect(error?.field == "payment.currency")
    }
}
