/// What is true of a payment: one word, and the sums behind it.
///
/// *Shape* (what is not known is left out; amounts in the currency's smallest unit):
/// ```
/// {"state":"paid","amount":1099,"amount_received":1099,"currency":"eur","method":"ideal",
///  "paid_at":"2026-11-20T09:30:00.125Z"}
/// ```
public struct Payment: WireObject, Hashable {
    /// The word.
    public enum State: String, Word {
        /// The customer still has to do something; ``NextStep`` says what.
        case awaitingCustomer = "awaiting_customer"
        /// A bank is at work, and may still refuse.
        case processing
        /// The customer has agreed; the shop has not taken the money yet.
        case authorised
        /// The money is there.
        case paid
        /// Part of it has arrived, and the rest is waited for.
        case partiallyPaid = "partially_paid"
        /// This try has failed; nothing was taken.
        case failed
        /// Time ran out before it was paid or taken.
        case expired
        /// Somebody has called it off.
        case cancelled
        /// It was paid, and all of it was given back.
        case refunded
        /// It was paid, and part of it was given back.
        case partiallyRefunded = "partially_refunded"
        /// It was paid, and the payer's bank has asked for it back.
        case disputed
        /// It was paid, and the bank has taken it back.
        case reversed
        /// Nothing was seen, or nothing that says any of this.
        case unknown
    }

    /// The word.
    public var state = Open(State.unknown)
    /// What was to be paid.
    public var amount: Int?
    /// What has arrived, also when it has gone back since.
    public var amountReceived = 0
    /// What has gone back of it; nil when nothing has.
    public var amountReturned: Int?
    /// Three letters, lower case.
    public var currency: String?
    /// How it is paid: `ideal`, `card`.
    public var method: String?
    /// When it was paid, as far as that was seen.
    public var paidAt: Time?
    /// Why it is so, in a word that may be told to the payer.
    public var reason: String?
    /// The refund that is not finished, or did not go through; nil when every refund has succeeded.
    public var refund: Refund?
    /// What the customer was shown and has paid, when that was in another currency.
    public var presentment: Presentment?

    /// A refund that has not succeeded: it is on its way, waits for the customer, or came to nothing.
    ///
    /// *Source*: `status` of <https://docs.stripe.com/api/refunds/object>.
    public struct Refund: WireObject, Hashable {
        /// The state of the refund.
        public enum Status: String, Word {
            /// It is being processed, or the balance does not cover it yet.
            case pending
            /// The customer must say where the money goes.
            case requiresAction = "requires_action"
            /// The money came back to the shop.
            case failed
            /// It was called off, and the money stays with the shop.
            case canceled
        }

        /// The state of the refund.
        public var status = Open(Status.pending)
        /// Its sum, in the payment's currency; not part of ``Payment/amountReturned``.
        public var amount = 0

        package init() {}

        package static let shape = Shape<Refund> {
            Field("status", \.status)
            Field(
                "amount",
                \.amount,
                note: "In the payment's currency; not part of what has gone back."
            )
        }
    }

    /// What the customer was shown, in their own currency (Stripe's Adaptive Pricing).
    public struct Presentment: WireObject, Hashable {
        /// What was to be paid, in the smallest unit of this currency.
        public var amount = 0
        /// Three letters, lower case.
        public var currency = ""
        /// What has gone back of it; nil when nothing has, or it is not known in this currency.
        public var amountReturned: Int?

        package init() {}

        package static let shape = Shape<Presentment> {
            Field("amount", \.amount)
            Field("currency", \.currency)
            Field("amount_returned", \.amountReturned)
        }
    }

    package init() {}

    package static let shape = Shape<Payment> {
        Field("state", \.state, note: "The word that is true of the money.")
        Field("amount", \.amount, note: "What was to be paid, in the smallest unit.")
        Field(
            "amount_received",
            \.amountReceived,
            note: "What has arrived, also when it has gone back since."
        )
        Field("amount_returned", \.amountReturned, note: "What has gone back of it.")
        Field("currency", \.currency)
        Field("method", \.method, .examples("ideal", "sepa_debit", "card"))
        Field("paid_at", \.paidAt)
        Field(
            "reason",
            \.reason,
            .examples("insufficient_funds", "not_charged_in_time", "window_closing"),
            note: "Why it is so, in a word that may be told to the payer."
        )
        Field(
            "refund",
            \.refund,
            note: "A refund that is pending, waits for the customer, or did not go through."
        )
        Field(
            "presentment",
            \.presentment,
            note: "What the customer was shown and has paid, when that was in another currency."
        )
    }
}

/// What the customer must do next.
///
/// *Shape*: `type`, and what that needs:
/// ```
/// {"type":"pay_voucher","entity":"12345","reference":"999 123 456","url":"https://…",
///  "until":"2026-11-27T09:30:00.000Z"}
/// ```
public struct NextStep: WireObject, Hashable {
    /// What sort of step it is.
    public enum Sort: String, Word {
        /// Nothing.
        case none
        /// Go to a page or an app.
        case followLink = "follow_link"
        /// Send money to one of these accounts.
        case transfer
        /// Pay at a cash desk or a machine.
        case payVoucher = "pay_voucher"
        /// Scan or paste a code.
        case scanCode = "scan_code"
        /// Confirm in the bank's app.
        case approveInApp = "approve_in_app"
        /// Enter a code that was sent.
        case enterCode = "enter_code"
        /// Look up small deposits at the bank.
        case verifyMicrodeposits = "verify_microdeposits"
        /// Wait for the bank's debit, perhaps after agreeing to it.
        case awaitDebit = "await_debit"
        /// Say to which account money goes back.
        case giveRefundAccount = "give_refund_account"
        /// Go on at the shop's own page.
        case returnToShop = "return_to_shop"
        /// Choose how to pay.
        case chooseMethod = "choose_method"
    }

    /// What sort of step it is.
    public var type = Open(Sort.none)
    /// A page to go to, or one that shows all of it.
    public var url: String?
    /// What opens an app on the customer's own device.
    public var appURL: String?
    /// Until when it can be done.
    public var until: Time?
    /// Where to send money; any of them will do.
    public var accounts: [Account]?
    /// What to write beside a transfer, or to say at the cash desk.
    public var reference: String?
    /// The sum that is still missing.
    public var amountMissing: Int?
    /// Of ``amountMissing``.
    public var currency: String?
    /// The entity of a Multibanco voucher.
    public var entity: String?
    /// The number of a voucher.
    public var number: String?
    /// What each chain of shops wants to be told.
    public var stores: [Store]?
    /// The voucher to print.
    public var pdf: String?
    /// What the code says; from it a picture can be drawn.
    public var data: String?
    /// A picture of the code.
    public var imageURL: String?
    /// Tries that are left to enter a code.
    public var attemptsLeft: Int?
    /// `amounts` or `descriptor_code`.
    public var deposits: String?
    /// When deposits arrive, or the bank debits.
    public var at: Time?
    /// Whether the customer must agree to the debit before.
    public var needsApproval: Bool?

    /// An account that takes transfers.
    public struct Account: WireObject, Hashable {
        /// `iban`, `aba`, `sort_code`, `spei`, `swift`, `zengin`, or another word of the upstream's.
        public var scheme = ""
        /// Whose it is.
        public var holder: String?
        /// The bank's name.
        public var bank: String?
        /// The account, where it has one.
        public var iban: String?
        /// The bank, in SWIFT's words.
        public var bic: String?
        /// The account, where it has no IBAN.
        public var number: String?
        /// The bank's code by the scheme: routing number, sort code.
        public var bankCode: String?
        /// The branch's, of Japanese accounts.
        public var branchCode: String?

        package init() {}

        package static let shape = Shape<Account> {
            Field("scheme", \.scheme, .examples("iban", "aba"))
            Field("holder", \.holder)
            Field("bank", \.bank)
            Field("iban", \.iban)
            Field("bic", \.bic)
            Field("number", \.number)
            Field("bank_code", \.bankCode)
            Field("branch_code", \.branchCode)
        }
    }

    /// What a chain of shops wants to be told.
    public struct Store: WireObject, Hashable {
        /// Its name, such as `lawson`.
        public var name = ""
        /// The payment's code there.
        public var paymentCode = ""
        /// A second number some ask for.
        public var confirmationNumber: String?

        package init() {}

        package static let shape = Shape<Store> {
            Field("name", \.name)
            Field("payment_code", \.paymentCode)
            Field("confirmation_number", \.confirmationNumber)
        }
    }

    package init() {}

    package static let shape = Shape<NextStep> {
        Field("type", \.type, note: "What sort of step it is; the other members are its own.")
        Field("url", \.url, note: "A page to go to, or one that shows all of it.")
        Field("app_url", \.appURL, note: "What opens an app on the customer's own device.")
        Field("until", \.until, note: "Until when it can be done.")
        Field("accounts", \.accounts, note: "Where to send money; any of them will do.")
        Field("reference", \.reference)
        Field("amount_missing", \.amountMissing, note: "In the currency's smallest unit.")
        Field("currency", \.currency)
        Field("entity", \.entity)
        Field("number", \.number)
        Field("stores", \.stores)
        Field("pdf", \.pdf)
        Field("data", \.data, note: "What the code says.")
        Field("image_url", \.imageURL)
        Field("attempts_left", \.attemptsLeft)
        Field("deposits", \.deposits)
        Field("at", \.at, note: "When deposits arrive, or the bank debits.")
        Field("needs_approval", \.needsApproval)
    }
}
