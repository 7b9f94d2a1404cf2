package import PollerIdentity

/// What the customer must do next: the same on the page, in mails, events and on the command line.
///
/// | step | what is told |
/// |---|---|
/// | `follow_link` | a page or an app to go to, and until when |
/// | `transfer` | accounts to send money to, a reference, and the sum that is missing |
/// | `pay_voucher` | what to say at a cash desk or a machine: entity, reference, number, codes of shops |
/// | `scan_code` | a code to scan or to paste, or the app that knows it |
/// | `approve_in_app` | the customer confirms in the bank's app |
/// | `enter_code` | a code the customer was sent, and how many tries are left |
/// | `verify_microdeposits` | small deposits to look up at the bank |
/// | `await_debit` | when the bank debits, and whether the customer must agree to it before |
/// | `give_refund_account` | money waits to go back: the payer says to which account, on our page or to the shop |
/// | `return_to_shop` | only the shop's own page can go on |
/// | `choose_method` | nothing is chosen yet, or the last try has failed |
/// | `none` | nothing |
///
/// Links may carry the payment's own client secret, as the upstream makes them: they are for the payer
/// and for who may see the payment. So a step describes itself by its name alone.
/// *Source*: <https://docs.stripe.com/api/payment_intents/object>, `next_action`;
/// <https://docs.stripe.com/sources>.
package enum NextStep: Hashable, Sendable {
    case none
    case followLink(Link)
    case transfer(Transfer)
    case payVoucher(Voucher)
    case scanCode(Code)
    case approveInApp(until: Timestamp?)
    case enterCode(attemptsLeft: Int?)
    case verifyMicrodeposits(Microdeposits)
    case awaitDebit(at: Timestamp?, needsApproval: Bool)
    /// `url` is a page of ours on which it can be said; nil where there is none.
    case giveRefundAccount(url: String?)
    case returnToShop
    case chooseMethod

    /// Where to go.
    package struct Link: Hashable, Sendable {
        /// A page; nil when there is only an app.
        package var url: String?
        /// What opens the payment's app on the customer's own device.
        package var appURL: String?
        package var until: Timestamp?

        /// A link that leads nowhere yet.
        package init(url: String? = nil, appURL: String? = nil, until: Timestamp? = nil) {
            self.url = url
            self.appURL = appURL
            self.until = until
        }
    }

    /// Where to send money.
    package struct Transfer: Hashable, Sendable {
        /// Any of them will do.
        package var accounts: [BankAccount] = []
        /// What the customer must write beside it.
        package var reference: String?
        /// In the currency's smallest unit; nil when any sum is taken.
        package var amountMissing: Amount?
        package var currency: String?
        /// A page that says all of it.
        package var url: String?

        /// A transfer of which nothing is known yet.
        package init() {}
    }

    /// An account that takes transfers.
    package struct BankAccount: Hashable, Sendable {
        /// `iban`, `aba`, `sort_code`, `spei`, `swift`, `zengin`, or another word of the upstream's.
        package let scheme: String
        package var holder: String?
        package var bank: String?
        package var iban: String?
        package var bic: String?
        /// The account's number, where it is no IBAN.
        package var number: String?
        /// The bank's code: routing number, sort code, CLABE's bank, by the scheme.
        package var bankCode: String?
        /// Of Japanese accounts.
        package var branchCode: String?

        /// An account of which only the scheme is known.
        package init(scheme: String) {
            self.scheme = scheme
        }
    }

    /// What to pay in cash, or at a machine.
    package struct Voucher: Hashable, Sendable {
        package var entity: String?
        package var reference: String?
        package var number: String?
        /// By the name of the shop, in order.
        package var stores: [Store] = []
        /// A page with the voucher.
        package var url: String?
        package var pdf: String?
        package var until: Timestamp?

        /// What one chain of shops wants to be told.
        package struct Store: Hashable, Sendable {
            package let name: String
            package let paymentCode: String
            package let confirmationNumber: String?

            /// Describes what a shop wants.
            package init(name: String, paymentCode: String, confirmationNumber: String?) {
                self.name = name
                self.paymentCode = paymentCode
                self.confirmationNumber = confirmationNumber
            }
        }

        /// A voucher of which nothing is known yet.
        package init() {}
    }

    /// A code to scan, or to paste.
    package struct Code: Hashable, Sendable {
        /// What the code says; from it the picture can be drawn.
        package var data: String?
        package var imageURL: String?
        /// A page that shows it.
        package var url: String?
        package var appURL: String?
        package var until: Timestamp?

        /// A code of which nothing is known yet.
        package init() {}
    }

    /// Two small deposits, or one with a code, which the customer tells.
    package struct Microdeposits: Hashable, Sendable {
        /// `amounts` or `descriptor_code`.
        package var sort: String?
        package var arrivesAt: Timestamp?
        package var url: String?
        /// Tries that are left to tell them, where the upstream says so.
        package var attemptsLeft: Int?

        /// Deposits of which nothing is known yet.
        package init() {}
    }
}

extension NextStep {
    /// What is to be told of a payment: what its object asks for, as long as the customer is waited for.
    ///
    /// An intent whose last try failed, or ran out, asks for another method; a source does not come
    /// back from that, and what follows is the shop's.
    ///
    /// Where money has to go back, that comes before everything else, whatever has become of the payment.
    package init(_ facts: PaymentFacts, _ payment: Payment) {
        if facts.awaitsRefundAccount {
            self = .giveRefundAccount(url: nil)
            return
        }
        switch payment.state {
        case .awaitingCustomer, .partiallyPaid: self = facts.step
        case .failed, .expired:
            let isOpen = ["requires_payment_method", "requires_source"]
                .contains(facts.status?.description)
            let isAsked = facts.kind == .source && payment.reason == .authenticationRequired
            self = isOpen ? .chooseMethod : isAsked ? facts.step : .none
        case .processing:
            if case .awaitDebit = facts.step { self = facts.step } else { self = .none }
        case .authorised, .paid, .cancelled, .refunded, .partiallyRefunded, .disputed, .reversed,
            .unknown:
            self = .none
        }
    }

    /// What it is called in events.
    package var name: String {
        switch self {
        case .none: "none"
        case .followLink: "follow_link"
        case .transfer: "transfer"
        case .payVoucher: "pay_voucher"
        case .scanCode: "scan_code"
        case .approveInApp: "approve_in_app"
        case .enterCode: "enter_code"
        case .verifyMicrodeposits: "verify_microdeposits"
        case .awaitDebit: "await_debit"
        case .giveRefundAccount: "give_refund_account"
        case .returnToShop: "return_to_shop"
        case .chooseMethod: "choose_method"
        }
    }

    /// The step without addresses that carry the payment's own client secret: what is recorded, and told
    /// to everybody who may see the event.
    package var withoutSecrets: NextStep {
        func open(_ url: String?) -> String? {
            url.flatMap { $0.contains("client_secret=") ? nil : $0 }
        }
        switch self {
        case .followLink(var link):
            link.url = open(link.url)
            link.appURL = open(link.appURL)
            return .followLink(link)
        case .transfer(var transfer):
            transfer.url = open(transfer.url)
            return .transfer(transfer)
        case .payVoucher(var voucher):
            voucher.url = open(voucher.url)
            voucher.pdf = open(voucher.pdf)
            return .payVoucher(voucher)
        case .scanCode(var code):
            code.url = open(code.url)
            code.appURL = open(code.appURL)
            code.imageURL = open(code.imageURL)
            return .scanCode(code)
        case .verifyMicrodeposits(var deposits):
            deposits.url = open(deposits.url)
            return .verifyMicrodeposits(deposits)
        // Whoever gets there says where money goes.
        case .giveRefundAccount: return .giveRefundAccount(url: nil)
        case .none, .approveInApp, .enterCode, .awaitDebit, .returnToShop, .chooseMethod:
            return self
        }
    }

    /// Whether the shop's own page has sent the customer on its way, so that nobody needs to be told.
    package var isBegunByShop: Bool {
        switch self {
        case .none, .followLink, .returnToShop, .chooseMethod: true
        case .transfer, .payVoucher, .scanCode, .approveInApp, .enterCode, .verifyMicrodeposits,
            .awaitDebit, .giveRefundAccount:
            false
        }
    }

    /// Whether it asks for the account that money goes back to.
    package var asksForAccount: Bool {
        if case .giveRefundAccount = self { true } else { false }
    }

    /// Until when it can be done; nil when nobody says.
    package var until: Timestamp? {
        switch self {
        case .followLink(let link): link.until
        case .payVoucher(let voucher): voucher.until
        case .scanCode(let code): code.until
        case .approveInApp(let until): until
        case .awaitDebit(let at, _): at
        case .none, .transfer, .enterCode, .verifyMicrodeposits, .giveRefundAccount, .returnToShop,
            .chooseMethod:
            nil
        }
    }

    /// Six characters that change when the customer would have to be told anew; empty for none.
    ///
    /// What follows a `?` does not count: such addresses are signed anew for each answer. Of Stripe's own pages only
    /// the host counts, because the token of an answer is in their path. Nor do pictures, which only show what else is
    /// said.
    package var fingerprint: String {
        self == .none ? "" : PaymentMemory.fingerprint(of: said)
    }

    /// What of an address is the same in every answer.
    private static func lasting(_ url: String) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        guard let scheme = bare.firstRange(of: "://") else { return String(bare) }
        let host = bare[scheme.upperBound...].prefix { $0 != "/" }
        let isOfStripe = host == "stripe.com" || host.hasSuffix(".stripe.com")
        return isOfStripe ? String(host) : String(bare)
    }

    /// All that counts, in order.
    private var said: [String] {
        func path(_ url: String?) -> String { Self.lasting(url ?? "") }
        func time(_ at: Timestamp?) -> String { at.map { "\($0.ms)" } ?? "" }
        switch self {
        case .none, .giveRefundAccount, .returnToShop, .chooseMethod: return [name]
        case .followLink(let link):
            return [name, path(link.url), path(link.appURL), time(link.until)]
        case .transfer(let transfer):
            let accounts = transfer.accounts.flatMap { account in
                [
                    account.scheme, account.iban ?? "", account.bic ?? "", account.number ?? "",
                    account.bankCode ?? "", account.branchCode ?? "",
                ]
            }
            let missing = transfer.amountMissing.map { "\($0)" } ?? ""
            return [name, transfer.reference ?? "", missing, transfer.currency ?? ""] + accounts
        case .payVoucher(let voucher):
            let stores = voucher.stores.flatMap {
                [$0.name, $0.paymentCode, $0.confirmationNumber ?? ""]
            }
            return [
                name, voucher.entity ?? "", voucher.reference ?? "", voucher.number ?? "",
                path(voucher.url), time(voucher.until),
            ] + stores
        case .scanCode(let code):
            // Without its text a code is known by its page or its app alone.
            let place = code.data ?? path(code.url ?? code.appURL)
            return [name, place, time(code.until)]
        case .approveInApp(let until): return [name, time(until)]
        case .enterCode(let left): return [name, left.map { "\($0)" } ?? ""]
        case .verifyMicrodeposits(let deposits):
            // Deposits of which no tries are told are as they were told before there were any.
            return [name, deposits.sort ?? "", path(deposits.url), time(deposits.arrivesAt)]
                + (deposits.attemptsLeft.map { ["\($0)"] } ?? [])
        case .awaitDebit(let at, let needsApproval):
            return [name, time(at), "\(needsApproval)"]
        }
    }
}

extension NextStep: CustomStringConvertible, CustomReflectable {
    /// The name alone: what it leads to is for the payer.
    package var description: String { name }

    /// Shows the name instead of what it leads to.
    package var customMirror: Mirror { Mirror(self, children: ["step": name]) }
}
