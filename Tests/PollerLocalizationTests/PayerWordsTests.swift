import PollerIdentity
import PollerPayments
import PollerWatches
import Testing

@testable import PollerLocalization

@Suite("The texts for payers")
struct PayerWordsTests {
    /// Each next step, with all details and without any.
    static let steps: [NextStep] = {
        var transfer = NextStep.Transfer()
        var account = NextStep.BankAccount(scheme: "iban")
        account.iban = "DE89370400440532013000"
        account.bic = "COBADEFFXXX"
        account.holder = "Shop GmbH"
        transfer.accounts = [account]
        transfer.reference = "F-7"
        transfer.amountMissing = 500
        transfer.currency = "eur"
        var voucher = NextStep.Voucher()
        voucher.entity = "12345"
        voucher.reference = "999 123 456"
        voucher.until = Timestamp(ms: 1_795_000_000_000)
        var deposits = NextStep.Microdeposits()
        deposits.arrivesAt = Timestamp(ms: 1_795_000_000_000)
        var code = NextStep.Code()
        code.data = "weixin://wxpay/bizpayurl?pr=abc"
        return [
            .none, .followLink(.init(url: "https://bank.example/")), .followLink(.init()),
            .transfer(transfer), .transfer(.init()), .payVoucher(voucher), .payVoucher(.init()),
            .scanCode(code), .scanCode(.init()), .approveInApp(until: nil),
            .enterCode(attemptsLeft: 3), .enterCode(attemptsLeft: nil),
            .verifyMicrodeposits(deposits), .verifyMicrodeposits(.init()),
            .awaitDebit(at: Timestamp(ms: 1_795_000_000_000), needsApproval: false),
            .awaitDebit(at: nil, needsApproval: true), .giveRefundAccount(url: nil),
            .giveRefundAccount(url: "https://pay.example/r/src_1/continue?grant=x"), .returnToShop,
            .chooseMethod,
        ]
    }()

    @Test(
        "every payment has complete texts in every language, without keys or codes",
        arguments: PayerLanguage.allCases
    )
    func total(language: PayerLanguage) {
        let words = PayerWords.in(language)
        for (payment, step, purchase) in Self.all() {
            for (channel, isFirst) in [
                (PayerWords.Channel.mail, false), (.page, false), (.page, true),
            ] {
                let message = PayerMessage(
                    payment,
                    step,
                    of: purchase,
                    for: channel,
                    in: words,
                    isFirst: isFirst
                )
                let texts =
                    [message.title, message.text, message.subject] + message.links.map(\.label)
                    + (message.facts + message.details).flatMap { [$0.label, $0.value] }
                for text in texts {
                    // Raw states, reasons and upstream values contain one of these characters.
                    let isWhole =
                        !text.isEmpty && !text.contains { "_{}[]|".contains($0) }
                        && !text.contains("  ") && text.first != " "
                    #expect(isWhole, "\(payment.state) \(step): \(text)")
                }
            }
        }
    }

    @Test(
        "the captured and the authorised amount are both named",
        arguments: PayerLanguage.allCases
    )
    func partOfHold(language: PayerLanguage) {
        let words = PayerWords.in(language)
        func sum(_ amount: Amount) -> String { PayerMoney.text(amount, "eur", in: language) ?? "" }
        for (state, reason) in [
            (PaymentState.paid, nil), (.partiallyPaid, PaymentReason.held),
            (.partiallyPaid, .windowClosing),
        ] {
            let payment = Payment(
                state: state,
                amount: 1000,
                amountReceived: 600,
                currency: "eur",
                method: PaymentMethod("card"),
                reason: reason
            )
            let message = PayerMessage(payment, .none, of: Purchase(), for: .mail, in: words)
            for part in [600, 1000] as [Amount] {
                #expect(message.subject.contains(sum(part)), "\(message.subject)")
            }
            if state == .paid {
                #expect(
                    message.text.contains(sum(600)) && message.text.contains(sum(1000)),
                    "\(message.text)"
                )
                #expect(message.facts.first?.value == sum(600))
            } else {
                // The authorised rest is not for the payer to send.
                #expect(!message.text.contains(sum(400)), "\(message.text)")
            }
        }
        // Everything was captured, so there is only one amount.
        let whole = Payment(state: .paid, amount: 1000, amountReceived: 1000, currency: "eur")
        let message = PayerMessage(whole, .none, of: Purchase(), for: .mail, in: words)
        #expect(message.title == PayerWords.in(language)("page.paid.title"))
    }

    @Test(
        "a debit is announced in every language, whichever of its details are known",
        arguments: PayerLanguage.allCases
    )
    func mandates(language: PayerLanguage) {
        let words = PayerWords.in(language)
        var full = MandateNotice(id: "srcmn_1")
        full.amount = 1099
        full.currency = "eur"
        full.last4 = "3000"
        full.reference = "NXDSYREGC9PSMKWY"
        full.creditor = "TEST42ZZZ0000424242"
        var confirmed = full
        confirmed.reason = "mandate_confirmed"
        let page = "https://hooks.example/mandate"
        for (notice, purchase) in [
            (full, Purchase(order: "A77", shop: "Shop GmbH")), (full, Purchase()),
            (confirmed, Purchase(shop: "Shop GmbH")), (MandateNotice(id: "srcmn_2"), Purchase()),
        ] {
            let message = PayerMessage(notice, shownAt: page, of: purchase, in: words)
            for text in [message.title, message.text, message.subject] + message.links.map(\.label)
            {
                let isWhole =
                    !text.isEmpty && !text.contains { "_{}[]|".contains($0) }
                    && !text.contains("  ") && text.first != " "
                #expect(isWhole, "\(text)")
            }
            #expect(message.links.map(\.url) == [page])
            if notice.reference != nil {
                let values = message.details.map(\.value)
                #expect(
                    values.contains("NXDSYREGC9PSMKWY") && values.contains("TEST42ZZZ0000424242")
                )
            }
        }
    }

    /// Returns every state with every reason, and every possible next step.
    static func all() -> [(Payment, NextStep, Purchase)] {
        var all: [(Payment, NextStep, Purchase)] = []
        for state in PaymentState.allCases {
            for reason in [nil] + PaymentReason.allCases.map(Optional.some) {
                for (payment, purchase) in payments(state, reason) {
                    let steps = reason == nil ? Self.steps : [.none]
                    all += steps.map { (payment, $0, purchase) }
                }
            }
        }
        return all
    }

    /// Returns a payment with all details, and one without any.
    static func payments(
        _ state: PaymentState,
        _ reason: PaymentReason?
    ) -> [(Payment, Purchase)] {
        let full = Payment(
            state: state,
            amount: 1099,
            amountReceived: 599,
            amountReturned: 200,
            currency: "eur",
            method: PaymentMethod("ideal"),
            reason: reason
        )
        let bare = Payment(state: state, method: PaymentMethod("some_new_way"), reason: reason)
        let all = [
            (full, Purchase(order: "A77", shop: "Shop GmbH")), (bare, Purchase()),
            (bare, Purchase(isSetup: true)),
        ]
        return reason == nil ? all + withRefunds(full) : all
    }

    /// Returns a payment with each unsuccessful refund, in the shop's currency and in another one.
    private static func withRefunds(_ full: Payment) -> [(Payment, Purchase)] {
        RefundProgress.Status.allCases.flatMap { status in
            [nil, Presentment(amount: 1634, currency: "jpy")].map { shown in
                let payment = Payment(
                    state: full.state,
                    amount: full.amount,
                    amountReceived: full.amountReceived,
                    amountReturned: full.amountReturned,
                    currency: full.currency,
                    refund: RefundProgress(status, 399),
                    presentment: shown
                )
                return (payment, Purchase(order: "A77", shop: shown == nil ? "Shop GmbH" : nil))
            }
        }
    }

    @Test(
        "all languages have the same keys with the same placeholders",
        arguments: PayerLanguage.allCases
    )
    func keys(language: PayerLanguage) {
        let english = PayerWords.in(.en).all
        let words = PayerWords.in(language).all
        #expect(Set(words.keys) == Set(english.keys))
        for (key, pattern) in words {
            #expect(pattern.values == english[key]?.values, "\(key)")
            #expect(pattern.required == english[key]?.required, "\(key)")
            #expect(
                pattern.required.isSubset(of: ["headline", "again", "order", "support"]),
                "\(key)"
            )
        }
        let states = Set(PaymentState.allCases.map(\.rawValue))
        // Two texts depend on the payment itself instead of a reason.
        let reasons = Set(PaymentReason.allCases.map(\.rawValue)).union(["part", "transfer"])
        for key in words.keys where key.hasPrefix("page.") && key.hasSuffix(".text") {
            let parts = key.split(separator: ".").dropFirst().dropLast().map(String.init)
            let others = ["step", "refund", "setup", "late", "nothing"]
            guard let first = parts.first, !others.contains(first) else { continue }
            #expect(
                states.contains(first) && parts.dropFirst().allSatisfy(reasons.contains),
                "\(key)"
            )
        }
    }

    @Test(
        "an authorised bank transfer is reported as received, a card as approved by the bank",
        arguments: PayerLanguage.allCases
    )
    func transfers(language: PayerLanguage) {
        func title(_ method: String) -> String {
            let payment = Payment(state: .authorised, method: PaymentMethod(method))
            return PayerMessage(payment, .none, of: Purchase(), for: .page, in: .in(language)).title
        }
        let words = PayerWords.in(language)
        for method in ["ach_credit_transfer", "sepa_credit_transfer", "multibanco"] {
            #expect(title(method) == words("page.authorised.transfer.title"))
        }
        for method in ["card", "ideal", "sepa_debit"] {
            #expect(title(method) == words("page.authorised.title"))
        }
    }

    @Test("a Japanese account is shown with its branch and its type, as a transfer needs them")
    func japaneseAccount() {
        var account = NextStep.BankAccount(scheme: "zengin")
        account.holder = "Shop KK"
        account.bank = "Mizuho"
        account.number = "1234567"
        account.accountType = "futsu"
        account.bankCode = "0001"
        account.branchCode = "123"
        account.branchName = "Ginza"
        var transfer = NextStep.Transfer()
        transfer.accounts = [account]
        let message = PayerMessage(
            Payment(state: .awaitingCustomer),
            .transfer(transfer),
            of: Purchase(),
            for: .page,
            in: .in(.en)
        )
        #expect(
            message.details.map { "\($0.label): \($0.value)" } == [
                "Payee: Shop KK", "Account number: 1234567", "Account type: 普通 (futsu)",
                "Bank code: 0001", "Branch code: 123", "Bank: Mizuho", "Branch name: Ginza",
            ]
        )
    }

    @Test("only a paid payment is reported as received", arguments: PayerLanguage.allCases)
    func honest(language: PayerLanguage) {
        let words = PayerWords.in(language)
        let paid = words.all["page.paid.title"]?.text([:])
        for state in PaymentState.allCases where state != .paid {
            for reason in [nil] + PaymentReason.allCases.map(Optional.some) {
                for (payment, purchase) in Self.payments(state, reason) {
                    let message = PayerMessage(payment, .none, of: purchase, for: .page, in: words)
                    #expect(message.title != paid, "\(state)")
                }
            }
        }
    }

    @Test(
        "the amount of an overcapture is the one that was charged",
        arguments: [nil, "jpy"] as [String?]
    )
    func overcapture(shown: String?) {
        let payment = Payment(
            state: .paid,
            amount: 1000,
            amountReceived: 1200,
            currency: "eur",
            presentment: shown.map { Presentment(amount: 1634, currency: $0) }
        )
        let message = PayerMessage(payment, .none, of: Purchase(), for: .mail, in: .in(.en))
        if shown == nil {
            #expect(message.subject == "Payment confirmed – €12.00")
            #expect(message.facts.first?.value == "€12.00" && message.text.contains("€12.00"))
        } else {
            // The charged amount in the payer's currency is not known.
            #expect(message.subject == "Payment confirmed" && message.facts.isEmpty)
        }
    }

    @Test(
        "a payer whose transfer had arrived in part does not read that nothing was paid",
        arguments: PayerLanguage.allCases
    )
    func part(language: PayerLanguage) {
        let words = PayerWords.in(language)
        let sum = PayerMoney.text(600, "eur", in: language) ?? "?"
        for (state, reason) in [
            (PaymentState.cancelled, nil), (.cancelled, .requested), (.expired, .abandoned),
        ] as [(PaymentState, PaymentReason?)] {
            func text(_ received: Amount) -> String {
                let payment = Payment(
                    state: state,
                    amount: 1000,
                    amountReceived: received,
                    currency: "eur",
                    reason: reason
                )
                return PayerMessage(payment, .none, of: Purchase(), for: .mail, in: words).text
            }
            #expect(text(600).contains(sum) && text(600) != text(0))
            #expect(text(0) == words("page.\(state.rawValue).text"))
        }
    }

    @Test("a payment method to be saved is not called a payment", arguments: PayerLanguage.allCases)
    func setups(language: PayerLanguage) {
        let words = PayerWords.in(language)
        let link = NextStep.followLink(.init(url: "https://bank.example/"))
        let rows: [(PaymentState, NextStep, String)] = [
            (.awaitingCustomer, link, "step.follow_link"),
            (.awaitingCustomer, .chooseMethod, "step.return_to_shop"),
            (.awaitingCustomer, .returnToShop, "step.return_to_shop"),
            (.processing, .none, "processing"), (.unknown, .none, "unknown"),
        ]
        for (state, step, subject) in rows {
            let payment = Payment(state: state)
            func message(_ purchase: Purchase) -> PayerMessage {
                PayerMessage(payment, step, of: purchase, for: .page, in: words)
            }
            let setup = message(Purchase(isSetup: true))
            #expect(setup.title == words("page.setup.\(subject).title") && !setup.title.isEmpty)
            #expect(setup.text == words("page.setup.\(subject).text"))
            #expect(setup.title != message(Purchase()).title)
        }
    }

    @Test("the subject names shop, order, amount and method, with the amount only once")
    func subjects() {
        func subject(
            _ state: PaymentState,
            _ language: PayerLanguage,
            _ purchase: Purchase
        ) -> String {
            let payment = Self.payments(state, nil)[0].0
            return PayerMessage(payment, .none, of: purchase, for: .mail, in: .in(language)).subject
        }
        let full = Purchase(order: "A77", shop: "Shop GmbH")
        #expect(
            subject(.failed, .en, full) == "Shop GmbH: Payment failed – Order A77 – €10.99 (iDEAL)"
        )
        #expect(
            subject(.failed, .de, full)
                == "Shop GmbH: Zahlung fehlgeschlagen – Bestellung A77 – 10,99\u{A0}€ (iDEAL)"
        )
        #expect(subject(.refunded, .en, full) == "Shop GmbH: €2.00 refunded – Order A77 (iDEAL)")
        #expect(
            subject(.failed, .en, Purchase(note: "Two lamps"))
                == "Payment failed – Two lamps – €10.99 (iDEAL)"
        )
        let evil = Purchase(order: "1\r\nBcc: a@b\u{202E}", shop: "\u{2028}")
        #expect(subject(.failed, .en, evil) == "Payment failed – Order 1Bcc: a@b – €10.99 (iDEAL)")
    }

    @Test("only a succeeded refund is reported as completed", arguments: PayerLanguage.allCases)
    func refunds(language: PayerLanguage) {
        let words = PayerWords.in(language)
        let purchase = Purchase(order: "A77", shop: "Shop GmbH")
        func message(_ state: PaymentState, _ refund: RefundProgress?) -> PayerMessage {
            let payment = Payment(
                state: state,
                amount: 1099,
                amountReceived: 1099,
                amountReturned: state == .refunded ? 1099 : 0,
                currency: "eur",
                refund: refund
            )
            return PayerMessage(payment, .none, of: purchase, for: .mail, in: words)
        }
        let back = message(.refunded, nil)
        var texts = Set([back.title])
        for status in RefundProgress.Status.allCases {
            let open = message(.paid, RefundProgress(status, 1099))
            #expect(open.text != back.text && open.title.contains("10"), "\(status)")
            #expect(texts.insert(open.title).inserted, "\(status) has a headline of its own")
        }
    }

    @Test("a payer reads the amount they were shown, and a refunded part only if it is known")
    func presented() {
        func message(_ returned: Amount, shown: Amount?, _ state: PaymentState) -> PayerMessage {
            let payment = Payment(
                state: state,
                amount: 1099,
                amountReceived: 1099,
                amountReturned: returned,
                currency: "usd",
                presentment: Presentment(amount: 1634, currency: "jpy", returned: shown)
            )
            return PayerMessage(payment, .none, of: Purchase(), for: .mail, in: .in(.en))
        }
        let paid = message(0, shown: nil, .paid)
        #expect(paid.subject == "Payment confirmed – JP¥1,634")
        #expect(paid.text == "Thank you. We have received your payment of JP¥1,634.")
        #expect(paid.facts.map(\.value) == ["JP¥1,634"])
        #expect(message(1099, shown: nil, .refunded).title == "JP¥1,634 refunded")
        #expect(message(500, shown: 743, .partiallyRefunded).title == "JP¥743 refunded")
        let withoutSum = message(500, shown: nil, .partiallyRefunded)
        #expect(withoutSum.title == "Payment partly refunded" && !withoutSum.subject.contains("$"))
    }

    @Test("after a partly lost dispute no sum is named, as the shop may have refunded some of it")
    func partLost() {
        let payment = Payment(
            state: .partiallyRefunded,
            amount: 1099,
            amountReceived: 1099,
            amountReturned: 500,
            currency: "eur",
            reason: .disputeLost
        )
        for language in PayerLanguage.allCases {
            let message = PayerMessage(
                payment,
                .none,
                of: Purchase(),
                for: .page,
                in: .in(language)
            )
            #expect(!"\(message.title) \(message.text)".contains { $0.isNumber }, "\(language)")
        }
    }

    @Test("an operator's texts replace the standard ones, and invalid texts are rejected")
    func replacing() throws {
        let english = PayerWords.in(.en)
        let own = try english.replacing("# ours\npage.paid.title = Cheers[, {shop}]!\n")
        #expect(own("page.paid.title", ["shop": "Shop"]) == "Cheers, Shop!")
        #expect(own("page.paid.title") == "Cheers!")
        #expect(own("page.failed.title") == english("page.failed.title"))
        for wrong in [
            "page.paid.title", "page.paid.titel = x", "page.paid.title = {shop}",
            "page.paid.title = [{nonsense}]", "page.paid.title = [a", "page.paid.title = {a",
            "page.paid.title = a\npage.paid.title = b", "page.paid.title = a]",
            "page.paid.title = a}",
        ] {
            #expect(throws: InvalidInput.self, "\(wrong)") { try english.replacing(wrong) }
        }
    }

    @Test("placeholders inside a value are not interpreted")
    func values() throws {
        let pattern = try #require(WordPattern("a {x}[ b {y}| c {x}] d"))
        #expect(pattern.text(["x": "{y}[|]"]) == "a {y}[|] c {y}[|] d")
        #expect(pattern.text(["x": "1", "y": "2"]) == "a 1 b 2 d")
        #expect(pattern.required == ["x"] && pattern.values == ["x", "y"])
        #expect(WordPattern("[a[b]]") == nil && WordPattern("{}") == nil)
    }

    @Test("a link that is executable or hides its target is rejected")
    func links() {
        for safe in [
            "https://bank.example/a?b=c", "http://127.0.0.1:8080/x",
            "alipays://platformapi/startApp",
        ] {
            #expect(NextStep.isSafe(safe), "\(safe)")
        }
        for evil in [
            "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x",
            "http://bank.example/",
            "http://127.0.0.1.evil.example/", "file:///etc/passwd", "https:evil", "//evil", "",
            "https://a\"onclick=x", "intent://x", "https://a b",
        ] {
            #expect(!NextStep.isSafe(evil), "\(evil)")
        }
    }
}
