import PollerIdentity
import PollerLocalization
import PollerPayments

/// The English sentences of a payment's timeline, for support agents and operators.
///
/// `PayerWords` has the text for payers, which says less and is translated.
enum TimelineText {
    /// Returns the label of a payment state and its meaning in a sentence.
    static func label(_ state: PaymentState) -> (label: String, sentence: String) {
        switch state {
        case .awaitingCustomer: ("Waiting", "The customer has not paid yet.")
        case .processing:
            ("Processing", "The bank is processing the payment. The money has not arrived yet.")
        case .authorised:
            (
                "Authorised",
                "The customer has approved the payment. The money has not been captured yet."
            )
        case .paid: ("Paid", "The money has arrived.")
        case .partiallyPaid: ("Partially paid", "Less than the full amount has arrived.")
        case .failed: ("Failed", "The payment failed. No money has arrived.")
        case .expired: ("Expired", "The customer did not pay in time.")
        case .cancelled: ("Cancelled", "The payment was cancelled.")
        case .refunded: ("Refunded", "The payment was refunded to the customer.")
        case .partiallyRefunded:
            ("Partially refunded", "Part of the payment was returned to the customer.")
        case .disputed: ("Disputed", "The customer disputed the payment with their bank.")
        case .reversed: ("Reversed", "The bank reversed the payment.")
        case .unknown: ("Unknown", "The state of the payment is unknown.")
        }
    }

    /// Describes a payment with its amounts.
    static func sentence(_ payment: Payment) -> String {
        let whole = money(payment.amount, payment.currency)
        let received = money(payment.amountReceived, payment.currency)
        let returned = money(payment.amountReturned, payment.currency)
        let by = payment.method.map { " by \(method($0))" } ?? ""
        let text =
            switch (payment.state, payment.amount) {
            case (.awaitingCustomer, _?): "Waiting for the customer to pay \(whole)\(by)."
            case (.processing, _?): "The bank is processing \(whole)\(by)."
            case (.authorised, _?): "The customer has approved \(whole)\(by)."
            case (.paid, _?) where payment.isPartOfHold:
                "Paid: \(received) of \(whole) was captured\(by). The rest was released."
            case (.partiallyPaid, _?) where payment.isPartlyCaptured:
                "\(received) of \(whole) was captured\(by). The rest is still held."
            case (.paid, _) where payment.amountReceived > 0:
                "Paid: \(received) has arrived\(by)."
            case (.partiallyPaid, _?): "\(received) of \(whole) has arrived\(by)."
            case (.refunded, _) where payment.amountReturned > 0,
                (.partiallyRefunded, _) where payment.amountReturned > 0:
                "\(returned) was returned to the customer."
            default: label(payment.state).sentence
            }
        let shown = payment.presentment.map {
            " The customer saw the amount as \(money($0.amount, $0.currency))."
        }
        let refund = payment.refund.map { " \(sentence($0, payment.currency))" }
        let reason = payment.reason.map { " Reason: \(plain($0.rawValue))." }
        return text + (reason ?? "") + (shown ?? "") + (refund ?? "")
    }

    /// Describes a refund that has not succeeded.
    static func sentence(_ refund: RefundProgress, _ currency: String?) -> String {
        let sum = money(refund.amount, currency)
        return switch refund.status {
        case .pending: "A refund of \(sum) is pending. The money has not been sent yet."
        case .requiresAction:
            "A refund of \(sum) needs the customer's bank details."
        case .failed: "A refund of \(sum) failed. The money is back with the shop."
        case .canceled: "A refund of \(sum) was cancelled. The shop keeps the money."
        }
    }

    /// Describes the customer's next step.
    static func sentence(_ step: NextStep) -> String {
        guard step != .none else { return "The customer has nothing more to do." }
        let until = step.until.map { ", until \(PayerMoney.time($0, in: .en))" } ?? ""
        return "The customer must \(task(step))\(until)."
    }

    private static func task(_ step: NextStep) -> String {
        switch step {
        case .none: "do nothing"
        case .followLink: "follow the link to the bank"
        case .transfer: "send a bank transfer"
        case .payVoucher: "pay the voucher"
        case .scanCode: "scan the code"
        case .approveInApp: "approve it in the bank's app"
        case .enterCode: "enter the code they received"
        case .verifyMicrodeposits: "confirm two small deposits"
        case .awaitDebit: "wait for the debit"
        case .giveRefundAccount: "give an account for the refund"
        case .returnToShop: "return to the shop"
        case .chooseMethod: "choose another payment method"
        }
    }

    /// Describes why a watch was closed.
    static func sentence(_ reason: ClosedReason) -> String {
        switch reason {
        case .settled: "Polling has stopped."
        case .reached: "The requested state was reached."
        case .expired: "The customer did not pay in time. Polling has stopped."
        case .cancelled: "The watch was cancelled. The payment itself was not changed."
        case .gone: "The upstream has no such payment."
        case .dead: "Polling failed repeatedly. The payment is in quarantine."
        }
    }

    /// Describes why a watch with this last status and error was closed.
    ///
    /// "The customer did not pay" is said only when the last poll was answered.
    static func sentence(
        _ reason: ClosedReason,
        status: SourceStatus?,
        error: String?
    ) -> String {
        guard isBlind(reason, status, error) else { return sentence(reason) }
        return
            "We could not find out whether it was paid: \(cause(status, error)). Polling has stopped. "
            + "Poll again to find out."
    }

    /// Returns whether a watch expired without an answer to its last poll, so the payment state is unknown.
    static func isBlind(_ reason: ClosedReason, _ status: SourceStatus?, _ error: String?) -> Bool {
        reason == .expired && (status == nil || error != nil)
    }

    private static func cause(_ status: SourceStatus?, _ error: String?) -> String {
        guard let error else { return "it was never polled" }
        let refusal = "credentials refused: "
        let isRefused = error.hasPrefix(refusal)
        let message = isRefused ? String(error.dropFirst(refusal.count)) : error
        let polls = status == nil ? "every poll" : "the last poll"
        return "\(polls) \(isRefused ? "was refused" : "failed") (\(message))"
    }

    /// Returns the predicate that follows the caller's name, such as "requested a poll".
    static func action(_ operation: String) -> String {
        switch operation {
        case "pollWatch": "requested a poll"
        case "cancelWatch": "cancelled the watch"
        case "redrive": "redrove it from quarantine"
        case "dismissWatch": "dismissed it from quarantine"
        case "dismissDelivery": "dismissed failed deliveries"
        case "verifyWatch": "submitted a code"
        case "giveRefundAccount": "submitted the refund account"
        default: "ran “\(operation)”"
        }
    }

    /// Describes the customer's action on the return page.
    static func visit(_ what: String) -> String {
        switch what {
        case PayerAction.page.rawValue: "The customer opened the return page."
        case PayerAction.onward.rawValue: "The customer continued to the bank from the return page."
        case PayerAction.code.rawValue: "The customer entered a code on the return page."
        case PayerAction.amounts.rawValue:
            "The customer entered the amounts of two deposits on the return page."
        case PayerAction.account.rawValue:
            "The customer entered the refund account on the return page."
        default: "The customer used the return page."
        }
    }

    /// Returns an amount such as `€10.99`, or the bare number when the currency is unknown.
    private static func money(_ amount: Amount?, _ currency: String?) -> String {
        guard let amount else { return "" }
        return PayerMoney.text(amount, currency, in: .en) ?? "\(amount)"
    }

    private static func method(_ method: PaymentMethod) -> String {
        PayerWords.in(.en).name(of: method) ?? plain(method.name)
    }

    /// Returns a URL without its scheme, and without its query, which may hold a secret.
    static func shortURL(_ url: NotifyURL) -> String {
        let text = url.description
        for scheme in ["https://", "http://", "mailto:"] where text.hasPrefix(scheme) {
            return String(text.dropFirst(scheme.count).prefix { $0 != "?" })
        }
        return text
    }

    /// Replaces underscores: `partially_paid` becomes `partially paid`.
    static func plain(_ text: String) -> String {
        text.replacing("_", with: " ")
    }

    /// Adds a capital letter and a full stop.
    static func sentence(_ words: String) -> String {
        let words = words.trimmingPrefix { $0.isWhitespace }
        guard let first = words.first, let last = words.last else { return "" }
        // A command keeps its lower-case letter.
        let isCommand = words.hasPrefix("pollerctl ") || words.hasPrefix("pollerd ")
        let begun = isCommand ? String(words) : first.uppercased() + words.dropFirst()
        return ".!?…".contains(last) ? begun : begun + "."
    }
}

/// A customer's action on the return page, as stored in notes.
enum PayerAction: String {
    case page
    /// The customer followed the link to the bank.
    case onward
    case code
    case amounts
    /// The account for a refund.
    case account
}
