import PollerIdentity
package import PollerPayments

/// The message about a payment that a page or an email shows to its payer.
///
/// It depends on ``Payment``, ``NextStep`` and ``Purchase`` only.
package struct PayerMessage: Hashable, Sendable {
    package let title: String
    package let text: String
    /// The email subject, which summarises the message in one line.
    package let subject: String
    /// The amount, order and payment method.
    package let facts: [PayerFact]
    /// The values for the next step: bank account details or voucher numbers.
    package let details: [PayerFact]
    /// The links for the next step.
    package let links: [PayerLink]

    /// Creates the message in the given language.
    ///
    /// `isFirst`: whether the payer has just returned, so that the bank may still be processing.
    package init(
        _ payment: Payment,
        _ step: NextStep,
        of purchase: Purchase,
        for channel: PayerWords.Channel,
        in words: PayerWords,
        isFirst: Bool = false
    ) {
        let values = Self.values(payment, step, purchase, words)
        let subjects = Self.subjects(payment, step, purchase, isFirst: isFirst)
        let headline = words.pattern(channel, subjects, "title")
        title = headline?.text(values) ?? ""
        text = words.pattern(channel, subjects, "text")?.text(values) ?? ""
        // The subject repeats no amount that the title already contains.
        let sums: Set<String> = ["amount", "received", "returned", "missing", "refund"]
        let charged =
            payment.isPartOfHold || payment.isMoreThanAmount
            ? values["received"] : values["amount"]
        var line = values
        line["headline"] = title
        line["amount"] = charged
        if let headline, !headline.values.isDisjoint(with: sums) { line["amount"] = nil }
        subject = words("mail.subject", line)
        facts = [
            charged.map { PayerFact(words("label.amount"), $0) },
            purchase.order.map { PayerFact(words("label.order"), $0) },
            purchase.order == nil ? purchase.note.map { PayerFact(words("label.order"), $0) } : nil,
            values["method"].map { PayerFact(words("label.method"), $0) },
        ].compactMap(\.self)
        let isAsked = Self.needsPayerAction(payment, step)
        details = isAsked ? step.details(words, payee: purchase.payee) : []
        links = isAsked && !(isFirst && Self.leadsToOtherSite(step)) ? step.links(words) : []
    }

    /// Whether the payer must complete the step now.
    package static func needsPayerAction(_ payment: Payment, _ step: NextStep) -> Bool {
        if step.asksForAccount { return true }
        return switch payment.state {
        case .awaitingCustomer, .partiallyPaid: step != .none
        case .processing: if case .awaitDebit = step { true } else { false }
        default: false
        }
    }

    /// Whether the step leads to another site.
    ///
    /// A payer who has just returned from there is not sent back immediately.
    package static func leadsToOtherSite(_ step: NextStep) -> Bool {
        switch step {
        case .followLink, .returnToShop, .chooseMethod: true
        case .none, .transfer, .payVoucher, .scanCode, .approveInApp, .enterCode,
            .verifyMicrodeposits, .awaitDebit, .giveRefundAccount:
            false
        }
    }

    /// The subjects that apply to a payment, from the most to the least specific.
    static func subjects(
        _ payment: Payment,
        _ step: NextStep,
        _ purchase: Purchase,
        isFirst: Bool
    ) -> [String] {
        let state = payment.state.rawValue
        if case .giveRefundAccount(let url) = step {
            return (url == nil ? [] : ["step.\(step.name).form"]) + ["step.\(step.name)"]
        }
        var subjects: [String] = []
        if needsPayerAction(payment, step), payment.state != .partiallyPaid {
            switch step {
            case _ where isFirst && leadsToOtherSite(step): break
            case .awaitDebit(_, needsApproval: true):
                subjects += ["step.await_debit.approval", "step.await_debit"]
            case .chooseMethod: subjects.append("step.return_to_shop")
            case .verifyMicrodeposits(let deposits) where deposits.sort == "amounts":
                subjects += ["step.\(step.name).amounts", "step.\(step.name)"]
            default: subjects.append("step.\(step.name)")
            }
            // A setup takes no money, so its page does not ask the payer to pay.
            if purchase.isSetup { subjects = subjects.map { "setup.\($0)" } + subjects }
        }
        if let refund = payment.refund, payment.state.isPaid {
            subjects.append("refund.\(refund.status.rawValue)")
        }
        if purchase.isSetup {
            subjects.append("setup.\(payment.state == .cancelled ? "expired" : state)")
        }
        if payment.state == .authorised, Self.isPush(payment.method) {
            subjects.append("\(state).transfer")
        }
        if payment.isPartOfHold { subjects.append("\(state).part") }
        // The shop's capture deadline does not concern the payer, so both reasons use the same text.
        if payment.isPartlyCaptured { subjects.append("\(state).\(PaymentReason.held.rawValue)") }
        if let reason = payment.reason { subjects.append("\(state).\(reason.rawValue)") }
        // A part of a transfer had arrived, so the payer must not read that nothing was paid.
        if payment.state == .cancelled || payment.state == .expired, payment.amountReceived > 0 {
            subjects.append("cancelled.part")
        }
        if payment.state == .awaitingCustomer, !isFirst { subjects.append("late") }
        return subjects + [state]
    }

    /// Whether the payer sends the money, as with a bank transfer, so that an authorised payment has already arrived.
    ///
    /// *Source*: <https://docs.stripe.com/sources>: a source of such a type becomes `chargeable` when it has
    /// received the money.
    private static func isPush(_ method: PaymentMethod?) -> Bool {
        let push: Set = [
            "ach_credit_transfer", "sepa_credit_transfer", "customer_balance", "multibanco",
        ]
        return method.map { push.contains($0.name) } ?? false
    }

    private static func values(
        _ payment: Payment,
        _ step: NextStep,
        _ purchase: Purchase,
        _ words: PayerWords
    ) -> [String: String] {
        func sum(_ amount: Amount?, _ currency: String? = payment.currency) -> String? {
            amount.flatMap { PayerMoney.text($0, currency, in: words.language) }
        }
        func time(_ instant: Timestamp) -> String {
            PayerMoney.time(instant, in: words.language, at: purchase.zone)
        }
        let sums = PayerSums(payment)
        var values = ["again": words("page.again")]
        values["amount"] = sum(sums.amount, sums.currency)
        values["received"] = payment.amountReceived > 0 ? sum(sums.received, sums.currency) : nil
        values["returned"] = payment.amountReturned > 0 ? sum(sums.returned, sums.currency) : nil
        values["refund"] = sum(sums.refund, sums.currency)
        values["method"] = words.name(of: payment.method)
        values["shop"] = purchase.shop
        values["order"] = purchase.order
        values["about"] =
            purchase.order.map { words("mail.about", ["order": $0]) } ?? purchase.note
        values["until"] = step.until.map(time)
        switch step {
        case .transfer(let transfer):
            values["missing"] = sum(
                transfer.amountMissing,
                transfer.currency ?? payment.currency
            )
            values["reference"] = transfer.reference
        case .enterCode(let left): values["attempts"] = left.map { "\($0)" }
        case .verifyMicrodeposits(let deposits):
            values["attempts"] = deposits.attemptsLeft.map { "\($0)" }
            values["at"] = deposits.arrivesAt.map(time)
        case .awaitDebit(let at, _):
            values["at"] = at.map(time)
        default: break
        }
        if payment.state == .partiallyPaid, values["missing"] == nil, let amount = payment.amount,
            payment.presentment == nil
        {
            let missing = amount - payment.amountReceived
            values["missing"] = missing > 0 ? sum(missing) : nil
        }
        return values
    }
}

/// The amounts of a payment in the currency that was presented to the payer.
///
/// With Adaptive Pricing the payer agreed to an amount in their currency, so the shop's currency is never shown. Partial
/// amounts are known only when the upstream reports them. They are not calculated from an exchange rate.
private struct PayerSums {
    let amount: Amount?
    let received: Amount?
    let returned: Amount?
    let refund: Amount?
    let currency: String?

    init(_ payment: Payment) {
        guard let shown = payment.presentment else {
            amount = payment.amount
            received = payment.amountReceived
            returned = payment.amountReturned
            refund = payment.refund?.amount
            currency = payment.currency
            return
        }
        func whole(_ sum: Amount?) -> Amount? { sum == payment.amount ? shown.amount : nil }
        amount = shown.amount
        received = whole(payment.amountReceived)
        returned = shown.returned ?? whole(payment.amountReturned)
        refund = whole(payment.refund?.amount)
        currency = shown.currency
    }
}
