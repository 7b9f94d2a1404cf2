import JSONText
import PollerIdentity
import PollerPayments
import PollerTesting
import Testing

@testable import PollerUpstreams

@Suite("The payment in Stripe's objects")
struct PaymentFactsTests {
    @Test("Stripe's example sources have their payment state, method and amount")
    func examples() throws {
        let expected = [
            "alipay": "awaiting_customer 150", "bancontact": "awaiting_customer 1099",
            "card": "authorised ?", "multibanco": "awaiting_customer 1099",
            "sepa_debit": "authorised ?", "sofort": "awaiting_customer 1099",
            "three_d_secure": "awaiting_customer 1099", "wechat": "awaiting_customer 1010",
        ]
        let examples = try StripeFixtures.objects("source_examples", "sources")
        #expect(examples.count == expected.count)
        for example in examples {
            let payment = Payment(PaymentFacts(.source, object: example.value))
            let amount = payment.amount.map { "\($0)" } ?? "?"
            #expect(
                "\(payment.state.rawValue) \(amount)" == expected[example.name],
                "\(example.name)"
            )
            #expect(payment.method?.name == example.name)
        }
    }

    @Test("no example object of Stripe is paid without money")
    func fixtures() throws {
        for file in ["resources", "resources_2022"] {
            for object in try StripeFixtures.objects(file, "resources") {
                let kinds: [String: SourceKind] = [
                    "charge": .charge, "source": .source, "payment_intent": .paymentIntent,
                    "setup_intent": .setupIntent,
                ]
                guard let kind = kinds[object.name] else { continue }
                let payment = Payment(PaymentFacts(kind, object: object.value))
                #expect(
                    !payment.state.wasPaid && payment.state != .unknown,
                    "\(file) \(object.name)"
                )
                // The example of a charge has succeeded and was not captured.
                if kind == .charge { #expect(payment.state == .authorised) }
            }
        }
    }

    @Test(
        "an intent includes its charge, expanded or not, and as a list before 2022-11-15",
        arguments: [
            (#""amount_received":1099,"latest_charge":"ch_1""#, "paid 1099/1099"),
            (
                #""amount_received":1099,"latest_charge":{"id":"ch_1","status":"succeeded","amount":1099,"amount_captured":1099,"captured":true,"amount_refunded":1099,"refunded":true}"#,
                "refunded 1099/1099 -1099"
            ),
            (
                #""amount_received":1099,"latest_charge":{"id":"ch_1","status":"succeeded","amount":1099,"amount_captured":1099,"amount_refunded":0,"disputed":true}"#,
                "disputed 1099/1099"
            ),
            (
                #""amount_received":1099,"charges":{"data":[{"id":"ch_1","status":"succeeded","amount":1099,"captured":true,"amount_refunded":99}]}"#,
                "partially_refunded 1099/1099 -99"
            ),
            (
                #""amount_received":600,"latest_charge":{"id":"ch_1","status":"succeeded","amount":1099,"amount_captured":600,"amount_refunded":0}"#,
                "paid 600/1099"
            ),
        ]
    )
    func intents(members: String, expected: String) throws {
        let text = #"{"id":"pi_1","status":"succeeded","amount":1099,"currency":"eur",\#(members)}"#
        #expect(try word(.paymentIntent, text) == expected)
    }

    @Test(
        "a charge gives the payment its state, reason and amounts",
        arguments: [
            (#""status":"pending","captured":true,"amount_captured":1099"#, "processing 0/1099"),
            (#""status":"succeeded","captured":false"#, "authorised 0/1099"),
            (
                #""status":"succeeded","captured":false,"refunded":true,"amount_refunded":1099,"refunds":{"data":[{"reason":"expired_uncaptured_charge"}]}"#,
                "expired authorisation_expired 0/1099"
            ),
            (
                #""status":"succeeded","captured":false,"refunded":true,"amount_refunded":1099"#,
                "cancelled released 0/1099"
            ),
            (#""status":"succeeded","captured":true"#, "paid 1099/1099"),
            (
                #""status":"failed","captured":true,"amount_captured":1099,"failure_code":"card_declined","outcome":{"reason":"insufficient_funds"}"#,
                "failed insufficient_funds 0/1099"
            ),
            (
                #""status":"succeeded","captured":true,"disputed":true,"dispute":{"id":"dp_1","status":"lost","amount":99}"#,
                "partially_refunded dispute_lost 1099/1099 -99"
            ),
            (
                #""status":"succeeded","captured":true,"dispute":"dp_1""#, "disputed 1099/1099"
            ),
        ]
    )
    func charges(members: String, expected: String) throws {
        #expect(try word(.charge, #"{"id":"ch_1","amount":1099,\#(members)}"#) == expected)
    }

    @Test("an open dispute counts while the lost ones leave a rest, and the lost ones are summed")
    func disputes() throws {
        let object = try json(
            #"{"id":"ch_1","status":"succeeded","amount":900,"captured":true,"disputed":true}"#
        )
        let charge = try #require(ChargeFacts(charge: object))
        #expect(charge.dispute == .claimed)
        let won = try charge.disputed(by: [json(#"{"status":"won","amount":900}"#)])
        #expect(won.dispute == .over)
        let parts = [
            try json(#"{"status":"lost","amount":200}"#),
            try json(#"{"status":"won","amount":1}"#),
            try json(#"{"status":"lost","amount":300}"#),
        ]
        let lost = charge.disputed(by: parts)
        #expect(lost.dispute == .lost && lost.disputed == 500)
        let review = try json(#"{"status":"under_review","amount":1}"#)
        let open = charge.disputed(by: parts + [review])
        #expect(open.dispute == .open && open.disputed == 1)
        // Nothing is left that an open dispute could take.
        for whole in [#""amount":900"#, #""reason":"general""#] {
            let gone = try charge.disputed(by: [
                json(#"{"status":"needs_response","amount":1}"#),
                json(#"{"status":"lost",\#(whole)}"#),
            ])
            #expect(gone.dispute == .lost, "\(whole)")
        }
        // Amounts in two currencies have no total, so the whole charge counts as disputed.
        for unit in ["usd", "USD"] {
            let text = #"{"status":"lost","amount":200,"currency":"\#(unit)"}"#
            let yen = try #require(
                ChargeFacts(
                    charge: json(
                        #"{"id":"ch_1","status":"succeeded","amount":900,"captured":true,"currency":"jpy"}"#
                    )
                )
            )
            let foreign = try yen.disputed(by: [json(text)])
            #expect(foreign.dispute == .lost && foreign.disputed == nil)
            let alike = try yen.disputed(by: [json(text.replacing(unit, with: "JPY"))])
            #expect(alike.disputed == 200)
            let mixed = try yen.disputed(by: [
                json(text), json(#"{"status":"lost","amount":1,"currency":"jpy"}"#),
            ])
            #expect(mixed.disputed == nil)
        }
        // A list that is empty or unreadable changes nothing.
        #expect(charge.disputed(by: []) == charge)
        #expect(charge.disputed(by: [try json("7")]) == charge)
    }

    @Test(
        "sources and setup intents have their payment state in less common statuses too",
        arguments: [
            (
                SourceKind.source,
                #""status":"pending","flow":"receiver","type":"ach_credit_transfer","amount":1000,"receiver":{"amount_received":400,"amount_returned":100}"#,
                "partially_paid 400/1000 -100"
            ),
            (
                .source,
                #""status":"pending","flow":"redirect","type":"sofort","amount":5,"redirect":{"status":"succeeded"}"#,
                "processing 0/5"
            ),
            (
                .source,
                #""status":"pending","flow":"receiver","type":"multibanco","amount":5,"redirect":{"status":"succeeded"}"#,
                "awaiting_customer 0/5"
            ),
            (
                .source,
                #""status":"failed","flow":"redirect","type":"ideal","amount":5,"redirect":{"status":"failed","failure_reason":"user_abort"}"#,
                "failed customer_aborted 0/5"
            ),
            (
                .source,
                #""status":"consumed","type":"ideal","usage":"single_use","amount":5"#, "paid 5/5"
            ),
            (
                .source,
                #""status":"consumed","type":"sofort","usage":"single_use","amount":5"#,
                "processing 0/5"
            ),
            (
                .setupIntent,
                #""status":"requires_payment_method","last_setup_error":{"code":"setup_intent_authentication_failure"}"#,
                "failed authentication_failed 0/?"
            ),
            (.setupIntent, #""status":"succeeded""#, "authorised saved 0/?"),
            (
                .paymentIntent,
                #""status":"requires_action","amount":1000,"amount_received":0,"next_action":{"type":"display_bank_transfer_instructions","display_bank_transfer_instructions":{"amount_remaining":250}}"#,
                "partially_paid 750/1000"
            ),
        ] as [(SourceKind, String, String)]
    )
    func states(kind: SourceKind, members: String, expected: String) throws {
        #expect(try word(kind, #"{"id":"x_1",\#(members)}"#) == expected)
    }

    @Test("a missing, null or mistyped member is ignored without affecting others")
    func lenient() throws {
        for text in ["7", "[]", "null", "{}", #"{"status":7}"#, #"{"status":"a b"}"#] {
            #expect(try word(.paymentIntent, text).hasPrefix("unknown"), "\(text)")
        }
        let odd = """
            {"id":"pi_1","status":"succeeded","amount":"1099","amount_received":-5,"currency":7,
            "latest_charge":{"id":7,"status":"succeeded"},"charges":[7],"livemode":"no",
            "payment_method_types":"card"}
            """
        // The status shows a payment, but its amount is unreadable.
        #expect(try word(.paymentIntent, odd) == "paid 0/?")
        #expect(try ChargeFacts(charge: json(#"{"id":"ch_1","status":"levitating"}"#)) == nil)
        let huge = #"{"id":"ch_1","status":"succeeded","captured":true,"amount":9e99}"#
        #expect(try word(.charge, huge) == "paid 0/?")
    }

    @Test("a source expires as documented, for every type, usage and status")
    func lives() throws {
        let now = Timestamp(ms: 1_796_100_000_000)
        for type in try StripeFixtures.words("source.type") + ["newpay"] {
            for usage in try StripeFixtures.words("source.usage") {
                for status in try StripeFixtures.words("source.status") {
                    let text =
                        #"{"id":"src_1","status":"\#(status)","type":"\#(type)","#
                        + #""usage":"\#(usage)","created":1796083200}"#
                    let object = try json(text)
                    let before = try ObjectFacts(scanning: Array(text.utf8))
                    let facts = PaymentFacts(.source, object: object, seenAt: now)
                    let life = PaymentLifetime(facts, Payment(facts), now: now)
                    let expected = SourceExpiry.documented.expiresAt(before, of: .source, now: now)
                    #expect(life.expiresAt == expected, "\(type) \(usage) \(status)")
                }
            }
        }
    }

    @Test(
        "the reason and the method are those of the last attempt, even if it made no charge",
        arguments: [
            (
                #"{"code":"card_declined","charge":"ch_1","payment_method":{"id":"pm_1","type":"card"}}"#,
                "failed insufficient_funds card"
            ),
            (
                #"{"code":"payment_intent_authentication_failure","payment_method":{"id":"pm_1","type":"card"}}"#,
                "failed authentication_failed card"
            ),
            (
                #"{"code":"payment_intent_payment_attempt_expired","payment_method":{"id":"pm_2","type":"oxxo"}}"#,
                "expired unused oxxo"
            ),
            (
                #"{"code":"payment_intent_payment_attempt_failed","payment_method":{"id":"pm_2","type":"ideal"}}"#,
                "failed declined ideal"
            ),
            // The error of a debit may not name its charge, which has the reason.
            (
                #"{"code":"payment_intent_payment_attempt_failed","payment_method":{"id":"pm_1","type":"card"}}"#,
                "failed insufficient_funds card"
            ),
            ("null", "failed insufficient_funds card"),
        ]
    )
    func attempts(error: String, expected: String) throws {
        func payment(_ status: String) throws -> Payment {
            let object = try json(
                #"{"id":"pi_1","status":"\#(status)","amount":5,"payment_method_types":["card","oxxo"],"#
                    + #""last_payment_error":\#(error),"latest_charge":{"id":"ch_1","status":"failed","#
                    + #""payment_method":"pm_1","payment_method_details":{"type":"card"},"#
                    + #""failure_code":"card_declined","outcome":{"reason":"insufficient_funds"}}}"#
            )
            return Payment(PaymentFacts(.paymentIntent, object: object).following(nil))
        }
        let failed = try payment("requires_payment_method")
        let words = [failed.state.rawValue, failed.reason?.rawValue, failed.method?.name]
        #expect(words.compactMap(\.self).joined(separator: " ") == expected)
        // The card of the failed charge is not the method of the next attempt.
        let next = try payment("requires_confirmation")
        #expect(next.state == .awaitingCustomer)
        if error == "null" { #expect(next.method == nil) }
    }

    @Test("the method is the chosen one, the attempted one, or the only one available")
    func methods() throws {
        let methods: [(String, String?)] = [
            (
                #""payment_method":{"type":"ideal"},"payment_method_types":["card","ideal"]"#,
                "ideal"
            ),
            (#""last_payment_error":{"payment_method":{"type":"card"}}"#, "card"),
            (#""payment_method":"pm_1","payment_method_types":["sepa_debit"]"#, "sepa_debit"),
            (#""payment_method_types":["card","ideal"]"#, nil),
            (
                #""latest_charge":{"id":"ch_1","status":"failed","payment_method_details":{"type":"blik"}}"#,
                "blik"
            ),
        ]
        for (members, expected) in methods {
            let object = try json(#"{"status":"requires_payment_method",\#(members)}"#)
            #expect(
                PaymentFacts(.paymentIntent, object: object).method?.name == expected,
                "\(members)"
            )
        }
        let card =
            #"{"id":"ch_1","status":"succeeded","payment_method_details":{"type":"card","card":{"capture_before":1796083200}}}"#
        let object = try json(card)
        let charge = try #require(ChargeFacts(charge: object))
        #expect(charge.captureBefore == Timestamp(ms: 1_796_083_200_000))
    }
}

/// Parses JSON.
func json(_ text: String) throws -> RawJSON {
    try #require(RawJSON(text), "\(text)")
}

/// Returns the state, the reason and the sums of the payment that an object describes.
func word(_ kind: SourceKind, _ text: String) throws -> String {
    let payment = Payment(PaymentFacts(kind, object: try json(text)).following(nil))
    let sums = "\(payment.amountReceived)/\(payment.amount.map { "\($0)" } ?? "?")"
    let back = payment.amountReturned > 0 ? " -\(payment.amountReturned)" : ""
    let reason = payment.reason.map { " \($0.rawValue)" } ?? ""
    return "\(payment.state.rawValue)\(reason) \(sums)\(back)"
}
