import Poller
import PollerWords

/// What states are called by people who look into a payment: in English, as everything operators read.
///
/// What payers read is elsewhere (`PayerWords`): they are told less, and in their own language.
enum StoryWords {
    /// What is true of the money: a word and a sentence.
    static func told(_ state: PaymentState) -> (word: String, sentence: String) {
        switch state {
        case .awaitingCustomer: ("Waiting", "The customer has not paid yet.")
        case .processing:
            ("Processing", "The bank is working on it; the money is not there yet.")
        case .authorised:
            ("Authorised", "The customer has approved it; the money is still to be collected.")
        case .paid: ("Paid", "The money has arrived.")
        case .partiallyPaid: ("Partly paid", "Less has arrived than was asked for.")
        case .failed: ("Failed", "The payment has failed; no money has arrived.")
        case .expired: ("Expired", "The customer has not paid in time.")
        case .cancelled: ("Cancelled", "The payment was cancelled.")
        case .refunded: ("Refunded", "The money has gone back to the customer.")
        case .partiallyRefunded:
            ("Partly refunded", "A part of the money has gone back to the customer.")
        case .disputed: ("Disputed", "The customer disputes the payment at the bank.")
        case .reversed: ("Reversed", "The bank has taken the money back.")
        case .unknown: ("Unknown", "What has become of the money is not known.")
        }
    }

    /// A payment in a sentence, with its sums.
    static func sentence(_ payment: Payment) -> String {
        let whole = money(payment.amount, payment.currency)
        let received = money(payment.amountReceived, payment.currency)
        let returned = money(payment.amountReturned, payment.currency)
        let by = payment.method.map { " by \(method($0))" } ?? ""
        let text =
            switch (payment.state, payment.amount) {
            case (.awaitingCustomer, _?): "Waits for the customer to pay \(whole)\(by)."
            case (.processing, _?): "The bank is working on \(whole)\(by)."
            case (.authorised, _?): "The customer has approved \(whole)\(by)."
            case (.paid, _?) where payment.isPartOfHold:
                "Paid: \(received) of \(whole) was captured\(by), and the rest released."
            case (.partiallyPaid, _?) where payment.isPartlyCaptured:
                "\(received) of \(whole) is captured\(by); the rest is still held."
            case (.paid, _) where payment.amountReceived > 0:
                "Paid: \(received) has arrived\(by)."
            case (.partiallyPaid, _?): "\(received) of \(whole) has arrived\(by)."
            case (.refunded, _) where payment.amountReturned > 0,
                (.partiallyRefunded, _) where payment.amountReturned > 0:
                "\(returned) has gone back to the customer."
            default: told(payment.state).sentence
            }
        let shown = payment.presentment.map {
            " The customer was shown \(money($0.amount, $0.currency))."
        }
        let refund = payment.refund.map { " \(sentence($0, payment.currency))" }
        let why = payment.reason.map { " Why: \(plain($0.rawValue))." }
        return text + (why ?? "") + (shown ?? "") + (refund ?? "")
    }

    /// A refund that has not succeeded, in a sentence.
    static func sentence(_ refund: RefundProgress, _ currency: String?) -> String {
        let sum = money(refund.amount, currency)
        return switch refund.status {
        case .pending: "A refund of \(sum) is pending: the money has not been sent yet."
        case .requiresAction:
            "A refund of \(sum) waits for the customer to say where the money goes."
        case .failed: "A refund of \(sum) has failed: the money is with the shop again."
        case .canceled: "A refund of \(sum) was cancelled: the money stays with the shop."
        }
    }

    /// What the customer must do next, in a sentence.
    static func sentence(_ step: NextStep) -> String {
        guard step != .none else { return "The customer has nothing more to do." }
        let until = step.until.map { ", until \(PayerMoney.time($0, in: .en))" } ?? ""
        return "The customer is to \(task(step))\(until)."
    }

    private static func task(_ step: NextStep) -> String {
        switch step {
        case .none: "do nothing"
        case .followLink: "follow the link to the bank"
        case .transfer: "send a bank transfer"
        case .payVoucher: "pay the voucher"
        case .scanCode: "scan the code"
        case .approveInApp: "approve it in the bank's app"
        case .enterCode: "enter the code they were sent"
        case .verifyMicrodeposits: "confirm two small deposits"
        case .awaitDebit: "wait for the debit"
        case .giveRefundAccount: "say where the money goes back to"
        case .returnToShop: "come back to the shop"
        case .chooseMethod: "choose another way to pay"
        }
    }

    /// Why a watch was closed.
    static func sentence(_ reason: ClosedReason) -> String {
        switch reason {
        case .settled: "It is not polled any more."
        case .reached: "It has reached what was waited for."
        case .expired: "Nobody has paid in time; it is not looked at any more."
        case .cancelled: "Somebody has stopped the watching; the payment itself was not touched."
        case .gone: "The upstream knows no such payment."
        case .dead: "It could not be looked at and is in quarantine."
        }
    }

    /// Why a watch was closed that had this status and this error last: that nobody has paid is said only
    /// of what could be seen.
    static func sentence(
        _ reason: ClosedReason,
        status: SourceStatus?,
        error: String?
    ) -> String {
        guard isBlind(reason, status, error) else { return sentence(reason) }
        return
            "We could not find out whether it was paid: \(why(status, error)). It is not looked at "
            + "any more; look again to find out."
    }

    /// Whether a watch ended without an answer, so that what has become of the money is not known.
    static func isBlind(_ reason: ClosedReason, _ status: SourceStatus?, _ error: String?) -> Bool {
        reason == .expired && (status == nil || error != nil)
    }

    private static func why(_ status: SourceStatus?, _ error: String?) -> String {
        guard let error else { return "no look has seen it" }
        let refusal = "credentials refused: "
        let isRefused = error.hasPrefix(refusal)
        let cause = isRefused ? String(error.dropFirst(refusal.count)) : error
        let looks = status == nil ? "every look" : "the last look"
        return "\(looks) \(isRefused ? "was refused" : "failed") (\(cause))"
    }

    /// What somebody did, behind their name; the operation's own words where there are no better.
    static func deed(_ operation: String) -> String {
        switch operation {
        case "pollWatch": "asked for a look"
        case "cancelWatch": "stopped the watching"
        case "redrive": "had it watched again"
        case "dismissWatch": "took it out of quarantine for good"
        case "dismissDelivery": "let rest what could not be told"
        case "verifyWatch": "handed in a code"
        case "giveRefundAccount": "said where the money goes back to"
        default: "did “\(operation)”"
        }
    }

    /// What a customer did on the return page.
    static func visit(_ what: String) -> String {
        switch what {
        case PayerAct.page.rawValue: "The customer looked at the return page."
        case PayerAct.onward.rawValue: "The customer went on to the bank from the return page."
        case PayerAct.code.rawValue: "The customer typed a code on the return page."
        case PayerAct.amounts.rawValue:
            "The customer typed the amounts of two deposits on the return page."
        case PayerAct.account.rawValue:
            "The customer said on the return page where the money goes back to."
        default: "The customer was on the return page."
        }
    }

    /// A sum as people write it, `€10.99`; the bare number where its currency is not known.
    private static func money(_ amount: Amount?, _ currency: String?) -> String {
        guard let amount else { return "" }
        return PayerMoney.text(amount, currency, in: .en) ?? "\(amount)"
    }

    private static func method(_ method: PaymentMethod) -> String {
        PayerWords.in(.en).name(of: method) ?? plain(method.name)
    }

    /// An address without what is the same in all, and without what may be a secret.
    static func place(_ url: NotifyURL) -> String {
        let text = url.description
        for scheme in ["https://", "http://", "mailto:"] where text.hasPrefix(scheme) {
            return String(text.dropFirst(scheme.count).prefix { $0 != "?" })
        }
        return text
    }

    /// `partially_paid` as words.
    static func plain(_ text: String) -> String {
        text.replacing("_", with: " ")
    }

    /// Words as a sentence: a capital, and a full stop.
    static func sentence(_ words: String) -> String {
        let words = words.trimmingPrefix { $0.isWhitespace }
        guard let first = words.first, let last = words.last else { return "" }
        // A command is no word that begins a sentence.
        let isCommand = words.hasPrefix("pollerctl ") || words.hasPrefix("pollerd ")
        let begun = isCommand ? String(words) : first.uppercased() + words.dropFirst()
        return ".!?…".contains(last) ? begun : begun + "."
    }
}

/// What a customer does on the return page, as notes have it.
enum PayerAct: String {
    case page
    /// The way on to the bank.
    case onward
    case code
    case amounts
    /// The account that money goes back to.
    case account

    /// What somebody does who fills in a form.
    init(_ form: PayerForm) {
        switch form {
        case .code: self = .code
        case .amounts: self = .amounts
        case .account: self = .account
        }
    }
}
