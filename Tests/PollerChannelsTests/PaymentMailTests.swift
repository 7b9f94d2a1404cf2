import JSONText
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerTesting
import PollerWatches
import Testing

@testable import PollerChannels

@Suite("The occasions of payment emails")
struct PaymentMailTests {
    /// Returns the events that one poll records: the payment, the next step and the status.
    func events(
        _ state: PaymentState,
        _ reason: PaymentReason? = nil,
        _ step: NextStep = .none,
        kind: SourceKind = .source,
        status: String? = "consumed"
    ) -> [Event] {
        let watch = Watch(
            key: WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: kind),
            policy: .standard,
            createdAt: Samples.start,
            deadline: Samples.start + .seconds(600),
            run: 1,
            seq: 1,
            state: WatchState(status: .chargeable)
        )
        let subjects: [EventSubject] = [.payment(state), .nextStep, .status]
        return subjects.enumerated().map { place, subject in
            Event(
                watch: watch,
                of: subject,
                at: place,
                status: status.map(SourceStatus.init(unchecked:)),
                final: place == 2,
                payment: Payment(
                    state: state,
                    amount: 1099,
                    amountReceived: state == .paid ? 1099 : 0,
                    currency: "eur",
                    method: PaymentMethod("multibanco"),
                    reason: reason
                ),
                nextStep: step,
                isLive: false,
                object: place == 2 ? RawJSON(unchecked: #"{"livemode":false}"#) : nil,
                polledAt: Samples.start,
                lag: .zero
            )
        }
    }

    func mailed(_ events: [Event]) -> [String] {
        events.filter { PaymentMail($0) != nil }.map(\.type)
    }

    static let steps: [NextStep] = [
        .none, .followLink(.init(url: "https://bank.example/")), .transfer(.init()),
        .payVoucher(.init()), .scanCode(.init()), .approveInApp(until: nil),
        .enterCode(attemptsLeft: 3), .verifyMicrodeposits(.init()),
        .awaitDebit(at: nil, needsApproval: false), .giveRefundAccount(url: nil), .returnToShop,
        .chooseMethod,
    ]

    @Test(
        "a payer gets at most one email for the events of one poll",
        arguments: PaymentState.allCases
    )
    func once(state: PaymentState) {
        for reason in [nil] + PaymentReason.allCases.map(Optional.some) {
            for step in Self.steps {
                for kind in [SourceKind.source, .paymentIntent, .setupIntent] {
                    let sent = mailed(events(state, reason, step, kind: kind))
                    #expect(sent.count <= 1 && sent != ["source.consumed"], "\(step): \(sent)")
                }
            }
        }
    }

    @Test("money is emailed by its payment state, a voucher by its step, other changes not at all")
    func words() {
        #expect(mailed(events(.paid)) == ["payment.paid"])
        #expect(mailed(events(.paid, .inquiry)).isEmpty)
        #expect(mailed(events(.failed, .declined)) == ["payment.failed"])
        #expect(mailed(events(.failed, .customerAborted)).isEmpty)
        #expect(mailed(events(.authorised)) == ["payment.authorised"])
        #expect(mailed(events(.authorised, .saved)).isEmpty)
        #expect(mailed(events(.authorised, .windowClosing)).isEmpty)
        #expect(
            mailed(events(.authorised, .saved, kind: .setupIntent)) == ["payment.authorised"]
        )
        #expect(
            mailed(events(.awaitingCustomer, nil, .payVoucher(.init()))) == ["next_step.changed"]
        )
        #expect(mailed(events(.awaitingCustomer, nil, .followLink(.init()))).isEmpty)
        #expect(
            mailed(events(.partiallyPaid, nil, .transfer(.init()))) == ["payment.partially_paid"]
        )
        let debit = NextStep.awaitDebit(at: nil, needsApproval: true)
        #expect(mailed(events(.processing, nil, debit)) == ["next_step.changed"])
        #expect(mailed(events(.partiallyRefunded)) == ["payment.partially_refunded"])
        #expect(mailed(events(.partiallyRefunded, .disputeLost)).isEmpty)
        for state in [PaymentState.disputed, .reversed, .unknown] {
            #expect(mailed(events(state)).isEmpty, "\(state)")
        }
    }

    /// Returns the events that one poll records about a refund.
    private func refund(
        _ refund: RefundProgress?,
        _ state: PaymentState = .paid,
        _ step: NextStep = .none
    ) -> [Event] {
        let watch = events(state)[0]
        let payment = Payment(
            state: state,
            amount: 1099,
            amountReceived: 1099,
            amountReturned: state == .partiallyRefunded ? 300 : 0,
            currency: "eur",
            refund: refund
        )
        let subjects: [EventSubject] =
            [.payment(state)] + (refund.map { [.refund($0.status)] } ?? [])
        return subjects.enumerated().map { place, subject in
            Event(
                watch: Watch(
                    key: watch.key,
                    policy: .standard,
                    createdAt: Samples.start,
                    deadline: Samples.start + .seconds(600),
                    run: 1,
                    seq: 1,
                    state: WatchState(status: .chargeable)
                ),
                of: subject,
                at: place,
                status: .consumed,
                final: false,
                payment: payment,
                nextStep: step,
                object: nil,
                polledAt: Samples.start,
                lag: .zero
            )
        }
    }

    @Test(
        "a refund that has not succeeded has its own email, which reports no returned money",
        arguments: RefundProgress.Status.allCases
    )
    func refunds(status: RefundProgress.Status) throws {
        let progress = RefundProgress(status, 700)
        #expect(mailed(refund(progress)) == ["refund.\(status.rawValue)"])
        #expect(
            mailed(refund(progress, .partiallyRefunded))
                == ["payment.partially_refunded", "refund.\(status.rawValue)"]
        )
        #expect(mailed(refund(progress, .disputed)).isEmpty)
        let waits = NextStep.giveRefundAccount(url: nil)
        #expect(mailed(refund(progress, .paid, waits)).isEmpty, "that is told by its step")
        let event = try #require(refund(progress).last)
        let mail = try #require(PaymentMail(event))
        let content = MailTemplates.standard.content(mail, branding: nil, unsubscribe: nil)
        #expect(content.subject.contains("refund of €7.00"))
        for part in [content.subject, content.text, content.html] {
            #expect(!part.contains("refunded") && !part.contains("5 to 10 days"), "\(part)")
        }
        let part = try #require(PaymentMail(refund(progress, .partiallyRefunded)[0]))
        let sent = MailTemplates.standard.content(part, branding: nil, unsubscribe: nil)
        #expect(sent.subject.hasPrefix("€3.00 refunded"))
    }

    @Test(
        "a payment is not confirmed again after a dispute or an inquiry",
        arguments: [
            (SourceKind.paymentIntent, #"{"latest_charge":{"disputed":true}}"#, false),
            (.source, #"{"object":"charge","disputed":true}"#, false),
            (.paymentIntent, #"{"latest_charge":{"disputed":false}}"#, true),
            (.paymentIntent, #"{"latest_charge":"ch_1"}"#, true),
            (.http, #"{"disputed":true}"#, true),
        ] as [(SourceKind, String, Bool)]
    )
    func disputed(kind: SourceKind, object: String, isMailed: Bool) {
        let event = Event(
            Watch(
                WatchKey("pi_1", kind: kind),
                createdAt: Samples.start,
                deadline: Samples.start + .seconds(600)
            ),
            of: .payment(.paid),
            payment: Payment(state: .paid, amount: 1099, amountReceived: 1099, currency: "eur"),
            object: RawJSON(unchecked: object),
            polledAt: Samples.start
        )
        #expect(mailed([event]) == (isMailed ? ["payment.paid"] : []))
    }

    @Test("returned money is emailed once, also if a dispute is won or a refund fails after it")
    func returnedOnce() {
        func payment(
            _ state: PaymentState,
            _ returned: Amount,
            _ reason: PaymentReason? = nil
        ) -> Payment {
            Payment(
                state: state,
                amount: 1099,
                amountReceived: 1099,
                amountReturned: returned,
                currency: "eur",
                reason: reason
            )
        }
        let rows: [(before: Payment?, now: Payment, isMailed: Bool)] = [
            (nil, payment(.partiallyRefunded, 300), true),
            (payment(.paid, 0), payment(.partiallyRefunded, 300), true),
            (payment(.partiallyRefunded, 300), payment(.partiallyRefunded, 500), true),
            (payment(.partiallyRefunded, 300), payment(.refunded, 1099), true),
            // A refund is a usual answer to an inquiry.
            (payment(.paid, 0, .inquiry), payment(.partiallyRefunded, 300, .inquiry), true),
            (payment(.partiallyRefunded, 300), payment(.partiallyRefunded, 300, .inquiry), false),
            (payment(.disputed, 300), payment(.partiallyRefunded, 300), false),
            (payment(.disputed, 1099), payment(.refunded, 1099), false),
            (payment(.partiallyRefunded, 500), payment(.partiallyRefunded, 300), false),
            (payment(.partiallyRefunded, 500), payment(.paid, 0), false),
        ]
        for row in rows {
            let event = Event(
                Watch(
                    WatchKey("pi_1", kind: .paymentIntent),
                    createdAt: Samples.start,
                    deadline: Samples.start + .seconds(600),
                    payment: row.before.map { PaymentMemory(reporting: $0) }
                ),
                of: .payment(row.now.state),
                payment: row.now,
                polledAt: Samples.start
            )
            #expect(mailed([event]).isEmpty != row.isMailed, "\(row)")
            #expect(Event(json: event.json) == event)
            #expect(event.json.contains("previous_amount_returned") == (event.previousReturned > 0))
        }
    }

    @Test("microdeposits are requested in one email, whatever attempts fail")
    func deposits() {
        var asked = NextStep.Microdeposits()
        #expect(
            mailed(events(.awaitingCustomer, nil, .verifyMicrodeposits(asked)))
                == ["next_step.changed"]
        )
        asked.attemptsLeft = 5
        let first = events(.awaitingCustomer, nil, .verifyMicrodeposits(asked), status: nil)
        #expect(mailed(first) == ["next_step.changed"])
        asked.attemptsLeft = 4
        #expect(mailed(events(.awaitingCustomer, nil, .verifyMicrodeposits(asked))).isEmpty)
    }

    @Test("an email for a voucher contains its numbers and the test mode notice")
    func voucher() throws {
        var voucher = NextStep.Voucher()
        voucher.entity = "12345"
        voucher.reference = "999 123 456"
        voucher.url = "https://stripe.example/voucher"
        let event = events(.awaitingCustomer, nil, .payVoucher(voucher))[1]
        let mail = try #require(PaymentMail(event))
        #expect(mail.isTest)
        let content = MailTemplates.standard.content(mail, branding: nil, unsubscribe: nil)
        #expect(content.subject == "Pay your voucher – €10.99 (Multibanco)")
        for part in [content.text, content.html] {
            #expect(part.contains("Entity") && part.contains("12345"))
            #expect(part.contains("999 123 456") && part.contains("https://stripe.example/voucher"))
            #expect(part.contains("Use the numbers below to pay €10.99"))
            #expect(!part.contains("src_") && !part.contains("consumed"))
        }
        #expect(!content.text.contains("\n\n\n"), "\(content.text)")
    }
}
