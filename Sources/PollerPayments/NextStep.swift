package import PollerIdentity

/// The customer's next action, the same on the page, in emails, in events and on the command line.
///
/// | step | content |
/// |---|---|
/// | `follow_link` | a page or an app to open, and its expiry |
/// | `transfer` | accounts to send money to, a reference, and the missing sum |
/// | `pay_voucher` | data for a cash desk or a machine: entity, reference, number, codes of shops |
/// | `scan_code` | a code to scan or to paste, or the app that knows it |
/// | `approve_in_app` | the customer confirms in the bank's app |
/// | `enter_code` | a code that the customer received, and the attempts left |
/// | `verify_microdeposits` | small deposits to look up at the bank |
/// | `await_debit` | the time of the debit, and whether the customer must approve it before |
/// | `give_refund_account` | a refund waits for the payer's account, entered on the payment page or at the shop |
/// | `return_to_shop` | only the shop's own page can continue |
/// | `choose_method` | no method is chosen yet, or the last attempt failed |
/// | `none` | nothing |
///
/// Links may contain the payment's client secret, as the upstream creates them. They are for the payer and for callers
/// that may read the payment. The description of a step is therefore only its name. *Source*:
/// <https://docs.stripe.com/api/payment_intents/object>, `next_action`; <https://docs.stripe.com/sources>.
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
    /// `url` is the page on which the account can be entered; `nil` without one.
    case giveRefundAccount(url: String?)
    case returnToShop
    case chooseMethod

    /// A link to open.
    package struct Link: Hashable, Sendable {
        /// The URL of a page; `nil` when there is only an app.
        package var url: String?
        /// The URL that opens the payment app on the customer's device.
        package var appURL: String?
        package var until: Timestamp?

        /// Creates a link, empty by default.
        package init(url: String? = nil, appURL: String? = nil, until: Timestamp? = nil) {
            self.url = url
            self.appURL = appURL
            self.until = until
        }
    }

    /// The data of a bank transfer.
    package struct Transfer: Hashable, Sendable {
        /// The possible destination accounts.
        package var accounts: [BankAccount] = []
        /// The reference that the customer must enter.
        package var reference: String?
        /// The missing sum in the currency's smallest unit; `nil` when any sum is accepted.
        package var amountMissing: Amount?
        package var currency: String?
        /// The URL of a page with all of the data.
        package var url: String?

        /// Creates an empty transfer.
        package init() {}
    }

    /// A bank account that receives transfers.
    package struct BankAccount: Hashable, Sendable {
        /// The scheme: `iban`, `aba`, `sort_code`, `spei`, `swift`, `zengin`, or another name of the upstream.
        package let scheme: String
        package var holder: String?
        package var bank: String?
        package var iban: String?
        package var bic: String?
        /// The account number, if it is not an IBAN.
        package var number: String?
        /// The type of the account, in the upstream's terms: `futsu` or `toza` in Japan.
        package var accountType: String?
        /// The bank's code, by the scheme: routing number, sort code, bank part of the CLABE.
        package var bankCode: String?
        /// The branch code of Japanese accounts.
        package var branchCode: String?
        package var branchName: String?

        /// Creates an account with only a scheme.
        package init(scheme: String) {
            self.scheme = scheme
        }
    }

    /// The data for a payment in cash or at a machine.
    package struct Voucher: Hashable, Sendable {
        package var entity: String?
        package var reference: String?
        package var number: String?
        /// The codes of shops, sorted by name.
        package var stores: [Store] = []
        /// The URL of a page with the voucher.
        package var url: String?
        package var pdf: String?
        package var until: Timestamp?

        /// The codes that one chain of shops needs.
        package struct Store: Hashable, Sendable {
            package let name: String
            package let paymentCode: String
            package let confirmationNumber: String?

            /// Creates the codes of a shop.
            package init(name: String, paymentCode: String, confirmationNumber: String?) {
                self.name = name
                self.paymentCode = paymentCode
                self.confirmationNumber = confirmationNumber
            }
        }

        /// Creates an empty voucher.
        package init() {}
    }

    /// A code to scan or to paste.
    package struct Code: Hashable, Sendable {
        /// The content of the code, from which the image can be drawn.
        package var data: String?
        package var imageURL: String?
        /// The URL of a page that shows the code.
        package var url: String?
        package var appURL: String?
        package var until: Timestamp?

        /// Creates an empty code.
        package init() {}
    }

    /// Two small deposits, or one with a code, which the customer must enter.
    package struct Microdeposits: Hashable, Sendable {
        /// The kind: `amounts` or `descriptor_code`.
        package var sort: String?
        package var arrivesAt: Timestamp?
        package var url: String?
        /// The attempts left to enter them, if the upstream returns the number.
        package var attemptsLeft: Int?

        /// Creates empty deposits.
        package init() {}
    }
}

extension NextStep {
    /// Creates the step of a payment: the step of its object, while an action of the customer is pending.
    ///
    /// An intent whose last attempt failed or expired requires another method. A source does not recover from that, and
    /// the shop continues.
    ///
    /// A refund that waits for an account has priority in any state of the payment.
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
            let requiresAuthentication =
                facts.kind == .source && payment.reason == .authenticationRequired
            self = isOpen ? .chooseMethod : requiresAuthentication ? facts.step : .none
        case .processing:
            if case .awaitDebit = facts.step { self = facts.step } else { self = .none }
        case .authorised, .paid, .cancelled, .refunded, .partiallyRefunded, .disputed, .reversed,
            .unknown:
            self = .none
        }
    }

    /// The name in events.
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

    /// The step without URLs that contain the payment's client secret: the form that is recorded and sent to all
    /// recipients of the event.
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
        // The page lets its visitor choose the refund account.
        case .giveRefundAccount: return .giveRefundAccount(url: nil)
        case .none, .approveInApp, .enterCode, .awaitDebit, .returnToShop, .chooseMethod:
            return self
        }
    }

    /// Whether the shop's own page has started the step, so that no message is needed.
    package var isBegunByShop: Bool {
        switch self {
        case .none, .followLink, .returnToShop, .chooseMethod: true
        case .transfer, .payVoucher, .scanCode, .approveInApp, .enterCode, .verifyMicrodeposits,
            .awaitDebit, .giveRefundAccount:
            false
        }
    }

    /// Whether the step requests the refund account.
    package var asksForAccount: Bool {
        if case .giveRefundAccount = self { true } else { false }
    }

    /// The expiry of the step; `nil` if unknown.
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

    /// Six characters that change when the customer needs a new message; empty for `none`.
    ///
    /// The part of a URL after `?` is ignored, because such URLs are signed again for each answer. For Stripe's own
    /// pages only the host counts, because their path contains a token. Images are ignored, because they only repeat
    /// other fields.
    package var fingerprint: String {
        self == .none ? "" : PaymentMemory.fingerprint(of: fingerprintParts)
    }

    /// Returns the part of a URL that is the same in every answer.
    private static func lasting(_ url: String) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        guard let scheme = bare.firstRange(of: "://") else { return String(bare) }
        let host = bare[scheme.upperBound...].prefix { $0 != "/" }
        let isOfStripe = host == "stripe.com" || host.hasSuffix(".stripe.com")
        return isOfStripe ? String(host) : String(bare)
    }

    /// The parts of the fingerprint, in order.
    private var fingerprintParts: [String] {
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
            // A code without content is identified only by its page or its app.
            let place = code.data ?? path(code.url ?? code.appURL)
            return [name, place, time(code.until)]
        case .approveInApp(let until): return [name, time(until)]
        case .enterCode(let left): return [name, left.map { "\($0)" } ?? ""]
        case .verifyMicrodeposits(let deposits):
            // Without attempts the parts are the same as before the field existed.
            return [name, deposits.sort ?? "", path(deposits.url), time(deposits.arrivesAt)]
                + (deposits.attemptsLeft.map { ["\($0)"] } ?? [])
        case .awaitDebit(let at, let needsApproval):
            return [name, time(at), "\(needsApproval)"]
        }
    }
}

extension NextStep: CustomStringConvertible, CustomReflectable {
    /// The name only: the content is for the payer.
    package var description: String { name }

    /// Shows the name instead of the content.
    package var customMirror: Mirror { Mirror(self, children: ["step": name]) }
}
