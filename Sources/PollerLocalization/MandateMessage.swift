import PollerIdentity
package import PollerPayments

extension PayerMessage {
    /// Creates the message that announces a debit or confirms a mandate.
    ///
    /// *Source*: <https://docs.stripe.com/sources/sepa-debit> lists the required fields: the last digits of the
    /// account, the mandate reference, the amount, the creditor identifier and the creditor's contact.
    package init(
        _ notice: MandateNotice,
        shownAt url: String?,
        of purchase: Purchase,
        in words: PayerWords
    ) {
        let subject = notice.isDebit ? "mandate" : "mandate.confirmed"
        let sum = notice.amount.flatMap {
            PayerMoney.text($0, notice.currency, in: words.language)
        }
        var values = ["amount": sum, "ending": notice.last4, "shop": purchase.shop]
            .compactMapValues(\.self)
        values["order"] = purchase.order
        values["about"] =
            purchase.order.map { words("mail.about", ["order": $0]) } ?? purchase.note
        title = words("mail.\(subject).title", values)
        text = words("mail.\(subject).text", values)
        // The title already contains the amount and the shop.
        var line = values
        line["headline"] = title
        line["amount"] = nil
        line["shop"] = nil
        self.subject = words("mail.subject", line)
        facts = [
            sum.map { PayerFact(words("label.amount"), $0) },
            purchase.order.map { PayerFact(words("label.order"), $0) },
        ].compactMap(\.self)
        details = [
            notice.reference.map { PayerFact(words("label.mandate"), $0, copied: $0) },
            notice.creditor.map { PayerFact(words("label.creditor"), $0, copied: $0) },
            notice.last4.map { PayerFact(words("label.account"), "•••• \($0)") },
        ].compactMap(\.self)
        let isShown = url.map(NextStep.isSafe) ?? false
        links = isShown ? [PayerLink(words("action.mandate"), url ?? "")] : []
    }
}
