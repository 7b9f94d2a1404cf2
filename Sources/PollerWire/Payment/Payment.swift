/// The state of a payment, with its amounts.
///
/// *Shape* (unknown fields are left out; amounts in the currency's smallest unit):
/// ```
/// {"state":"paid","amount":1099,"amount_received":1099,"currency":"eur","method":"ideal",
///  "paid_at":"2026-11-20T09:30:00.125Z"}
/// ```
public struct Payment: WireObject, Hashable {
    /// The payment state.
    public enum State: String, Word {
        /// The customer has an action left, described by ``NextStep``.
        case awaitingCustomer = "awaiting_customer"
        /// A bank is processing the payment and may still reject it.
        case processing
        /// The customer has approved the payment, and the shop has not collected the money yet.
        case authorised
        /// The money has arrived.
        case paid
        /// Part of the money has arrived, and the remainder is pending.
        case partiallyPaid = "partially_paid"
        /// This attempt has failed, and nothing was taken.
        case failed
        /// The time limit passed before the money was paid or collected.
        case expired
        case cancelled
        /// The payment was refunded in full.
        case refunded
        /// The payment was refunded in part, or the bank has taken back a part (reason `dispute_lost`).
        case partiallyRefunded = "partially_refunded"
        /// The payer's bank has disputed the payment.
        case disputed
        /// The bank has reversed the whole payment, except for at most a tenth.
        case reversed
        /// No observation yet, or none that determines the state.
        case unknown
    }

    /// The payment state.
    public var state = Open(State.unknown)
    /// The amount to pay.
    public var amount: Int?
    /// The amount received, including money returned since.
    public var amountReceived = 0
    /// The amount returned; `nil` if none was.
    public var amountReturned: Int?
    /// The currency, in three lowercase letters.
    public var currency: String?
    /// The payment method, such as `ideal` or `card`.
    public var method: String?
    /// The time of the payment, if observed.
    public var paidAt: Time?
    /// The reason for the state, as a code that may be shown to the payer.
    public var reason: String?
    /// The refund that is pending or failed; `nil` if every refund has succeeded.
    public var refund: Refund?
    /// The amount shown to the customer and paid, if it was in another currency.
    public var presentment: Presentment?

    /// A refund that is pending, waits for the customer, or failed.
    ///
    /// *Source*: `status` of <https://docs.stripe.com/api/refunds/object>.
    public struct Refund: WireObject, Hashable {
        /// The state of the refund.
        public enum Status: String, Word {
            /// The refund is being processed, or the balance does not cover it yet.
            case pending
            /// The customer must name an account for the money.
            case requiresAction = "requires_action"
            /// The money was returned to the shop.
            case failed
            /// The refund was cancelled, and the shop keeps the money.
            case canceled
        }

        /// The state of the refund.
        public var status = Open(Status.pending)
        /// The amount in the payment's currency, not included in ``Payment/amountReturned``.
        public var amount = 0

        package init() {}

        package static let shape = Shape<Refund> {
            Field("status", \.status)
            Field("amount", \.amount)
                .note("In the payment's currency. Not included in amount_returned.")
        }
    }

    /// The amounts in the customer's currency (Stripe's Adaptive Pricing).
    public struct Presentment: WireObject, Hashable {
        /// The amount to pay, in the smallest unit of this currency.
        public var amount = 0
        /// The currency, in three lowercase letters.
        public var currency = ""
        /// The amount returned; `nil` if none was, or if it is unknown in this currency.
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
        Field("state", \.state).note("The payment state.")
        Field("amount", \.amount).note("The amount due, in the smallest unit.")
        Field("amount_received", \.amountReceived)
            .note("The received amount, including amounts returned since.")
        Field("amount_returned", \.amountReturned).note("The returned part of the received amount.")
        Field("currency", \.currency)
        Field("method", \.method, .examples("ideal", "sepa_debit", "card"))
        Field("paid_at", \.paidAt)
        Field(
            "reason",
            \.reason,
            .examples("insufficient_funds", "not_charged_in_time", "window_closing")
        ).note("The reason for the state, as a code that may be shown to the payer.")
        Field("refund", \.refund)
            .note("A refund that is pending, waits for the customer, or failed.")
        Field("presentment", \.presentment)
            .note("The amount shown to and paid by the customer, if it was in another currency.")
    }
}

/// The customer's next action.
///
/// *Shape*: `type`, and the fields of that type:
/// ```
/// {"type":"pay_voucher","entity":"12345","reference":"999 123 456","url":"https://…",
///  "until":"2026-11-27T09:30:00.000Z"}
/// ```
public struct NextStep: WireObject, Hashable {
    /// The type of the next step.
    public enum Sort: String, Word {
        /// No action.
        case none
        /// Open a page or an app.
        case followLink = "follow_link"
        /// Transfer money to one of these accounts.
        case transfer
        /// Pay a voucher at a cash desk or a machine.
        case payVoucher = "pay_voucher"
        /// Scan or paste a code.
        case scanCode = "scan_code"
        /// Approve the payment in the bank's app.
        case approveInApp = "approve_in_app"
        /// Enter a code that the bank sent.
        case enterCode = "enter_code"
        /// Look up small deposits at the bank.
        case verifyMicrodeposits = "verify_microdeposits"
        /// Wait for the bank's debit, possibly after approving it.
        case awaitDebit = "await_debit"
        /// Name an account for the refund.
        case giveRefundAccount = "give_refund_account"
        /// Continue on the shop's page.
        case returnToShop = "return_to_shop"
        case chooseMethod = "choose_method"
    }

    /// The type of the next step.
    public var type = Open(Sort.none)
    /// The page to open, or one that shows the whole step.
    public var url: String?
    /// The link that opens an app on the customer's device.
    public var appURL: String?
    /// The deadline.
    public var until: Time?
    /// The accounts to transfer to, any of which is accepted.
    public var accounts: [Account]?
    /// The reference of a transfer, or for the cash desk.
    public var reference: String?
    /// The missing amount.
    public var amountMissing: Int?
    /// The currency of ``amountMissing``.
    public var currency: String?
    /// The entity of a Multibanco voucher.
    public var entity: String?
    /// The number of a voucher.
    public var number: String?
    /// The data that each store chain needs.
    public var stores: [Store]?
    /// The voucher as a PDF.
    public var pdf: String?
    /// The content of the code, from which an image can be drawn.
    public var data: String?
    /// An image of the code.
    public var imageURL: String?
    /// The remaining attempts to enter a code.
    public var attemptsLeft: Int?
    /// The way to verify the deposits: `amounts` or `descriptor_code`.
    public var deposits: String?
    /// The time of the deposits or of the debit.
    public var at: Time?
    /// Whether the customer must approve the debit first.
    public var needsApproval: Bool?

    /// An account that receives transfers.
    public struct Account: WireObject, Hashable {
        /// `iban`, `aba`, `sort_code`, `spei`, `swift`, `zengin`, or another value of the upstream.
        public var scheme = ""
        /// The account holder.
        public var holder: String?
        /// The bank's name.
        public var bank: String?
        /// The IBAN, if the account has one.
        public var iban: String?
        /// The BIC of the bank.
        public var bic: String?
        /// The account number, if there is no IBAN.
        public var number: String?
        /// The type of the account: `futsu` (ordinary) or `toza` (current) in Japan.
        public var accountType: String?
        /// The bank code of the scheme: a routing number or sort code.
        public var bankCode: String?
        /// The branch code of a Japanese account.
        public var branchCode: String?
        /// The name of that branch.
        public var branchName: String?

        package init() {}

        package static let shape = Shape<Account> {
            Field("scheme", \.scheme, .examples("iban", "aba"))
            Field("holder", \.holder)
            Field("bank", \.bank)
            Field("iban", \.iban)
            Field("bic", \.bic)
            Field("number", \.number)
            Field("account_type", \.accountType)
            Field("bank_code", \.bankCode)
            Field("branch_code", \.branchCode)
            Field("branch_name", \.branchName)
        }
    }

    /// The data that a store chain needs.
    public struct Store: WireObject, Hashable {
        /// The name, such as `lawson`.
        public var name = ""
        /// The payment code.
        public var paymentCode = ""
        /// A second number, which some chains ask for.
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
        Field("type", \.type).note("The type of the step. The other members depend on it.")
        Field("url", \.url).note("A page where the customer continues, or that shows all details.")
        Field("app_url", \.appURL).note("A link that opens an app on the customer's own device.")
        Field("until", \.until).note("The deadline of the step.")
        Field("accounts", \.accounts)
            .note("Bank accounts to send the money to. Any of them can be used.")
        Field("reference", \.reference)
        Field("amount_missing", \.amountMissing).note("In the currency's smallest unit.")
        Field("currency", \.currency)
        Field("entity", \.entity)
        Field("number", \.number)
        Field("stores", \.stores)
        Field("pdf", \.pdf)
        Field("data", \.data).note("The content of the code.")
        Field("image_url", \.imageURL)
        Field("attempts_left", \.attemptsLeft)
        Field("deposits", \.deposits)
        Field("at", \.at).note("When deposits arrive, or the bank debits.")
        Field("needs_approval", \.needsApproval)
    }
}
