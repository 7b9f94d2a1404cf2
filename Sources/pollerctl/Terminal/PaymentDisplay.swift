import JSONText
import PollerWire
import SafeNumbers

// Text for payments and for the customer's next step.

/// Amounts as commands print them: `€10.99` for people, `10.99 eur` for scripts, which parse it.
enum Sums {
    /// An amount with its currency; empty without an amount.
    static func text(_ amount: Int?, _ currency: String?) -> String {
        guard let amount else { return "" }
        return Terminal.isInteractive
            ? MoneyText.shown(amount, currency) : MoneyText.text(amount, currency)
    }
}

extension Payment {
    /// The sums with method, reason and an unfinished refund: `10.99 eur, ideal`,
    /// `5.00 of 10.99 eur, sepa_credit_transfer`, `10.99 eur, card, refund of 10.99 eur pending`.
    ///
    /// The received amount is included if it differs from the amount due.
    var sums: String {
        ([amountShown, presented] + [method, reason, refund?.shown(currency)])
            .compactMap(\.self).joined(separator: ", ")
    }

    /// The amounts; `nil` without any.
    var amountShown: String? {
        let unit = currency.flatMap(CurrencyUnit.init)
        func number(_ amount: Int) -> String { unit?.text(of: amount) ?? "\(amount)" }
        func sum(_ amount: Int) -> String { Sums.text(amount, currency) }
        var parts: [String] = []
        switch (amountReceived, amount) {
        case (0, let amount?): parts.append(sum(amount))
        case (let received, let amount?) where received != amount:
            parts.append("\(number(received)) of \(sum(amount))")
        case (0, nil): break
        case (let received, _): parts.append(sum(received))
        }
        if let amountReturned { parts.append("\(sum(amountReturned)) returned") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// The amount in the customer's currency, such as `1634 jpy to the customer`.
    private var presented: String? {
        presentment.map { "\(Sums.text($0.amount, $0.currency)) to the customer" }
    }

    /// The colour of the payment state.
    var colour: Terminal.Colour? {
        switch state.known {
        case .paid: .good
        case .failed, .reversed, .expired, .cancelled: .bad
        case .disputed, .partiallyPaid, .partiallyRefunded, .refunded: .careful
        case .authorised: .strong
        case .awaitingCustomer, .processing, .unknown, nil: nil
        }
    }

    /// The payment state as a cell of a list.
    static func cell(_ payment: Payment?) -> Table.Cell {
        Table.Cell(payment?.state.rawValue ?? "-", payment?.colour)
    }
}

extension Payment.Refund {
    /// The refund as text, such as `refund of 10.99 eur failed`.
    fileprivate func shown(_ currency: String?) -> String {
        "refund of \(Sums.text(amount, currency)) \(status.rawValue)"
    }
}

extension NextStep {
    /// The type of step and its deadline.
    var title: String { until.map { "\(type.rawValue) until \($0)" } ?? type.rawValue }
}

extension NextStep.Account {
    /// The account on one line, the most needed parts first.
    fileprivate var line: String {
        [scheme, iban, number, accountType, bankCode, branchCode, bic, bank, branchName, holder]
            .compactMap(\.self).joined(separator: " ")
    }
}

extension Watch {
    /// The amount in the upstream's object, if the payment has no amounts.
    var amountOfObject: String? {
        guard payment?.amountShown == nil, let text = object?.member("amount")?.number else {
            return nil
        }
        let currency = object?.member("currency")?.string
        return Int(safe: text).map { Sums.text($0, currency) }
            ?? [text, currency].compactMap(\.self).joined(separator: " ")
    }

    /// The payer's name in the upstream's object.
    var owner: String? {
        for name in ["owner", "billing_details", "shipping"] {
            if let text = object?.member(name)?.member("name")?.string { return text }
        }
        return nil
    }
}

extension Facts {
    /// Adds the payment and the customer's next step.
    mutating func add(_ payment: Payment?, _ step: NextStep?) {
        if let payment {
            add("payment", payment.state.rawValue, payment.colour)
            add("money", payment.sums.isEmpty ? nil : payment.sums)
            add("paid at", at: payment.paidAt)
        }
        if let step { add(step) }
    }

    private mutating func add(_ step: NextStep) {
        add("next step", step.title)
        add("link", step.url)
        add("app", step.appURL)
        for account in step.accounts ?? [] { add("transfer to", account.line) }
        add("missing", step.amountMissing.map { Sums.text($0, step.currency) })
        add("entity", step.entity)
        add("number", step.number)
        add("reference", step.reference)
        for store in step.stores ?? [] {
            let codes = [store.paymentCode, store.confirmationNumber].compactMap(\.self)
            add("store", "\(store.name) \(codes.joined(separator: " / "))")
        }
        add("voucher", step.pdf)
        add("code", step.data)
        add("picture", step.imageURL)
        add("tries left", step.attemptsLeft.map { "\($0)" })
        add("deposits", step.deposits)
        add("at", at: step.at)
        add("approval", step.needsApproval.map { $0 ? "needed" : "not needed" })
    }
}
