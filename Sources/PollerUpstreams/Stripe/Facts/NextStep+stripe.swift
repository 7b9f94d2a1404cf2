import PollerIdentity
import PollerPayments

// The next step of a customer, as Stripe's objects describe it. A source shows it by its flow, or by its type if the
// flow is misleading. WeChat's flow is `none`, and Multibanco's is `receiver` although the customer pays with two
// numbers. An intent shows it by `next_action`, whose details are in the member named after its type. An unknown type
// becomes a link if it has a page. Otherwise the customer returns to the shop, which continues the payment.
// *Source*: <https://docs.stripe.com/sources>, <https://docs.stripe.com/api/payment_intents/object>.

extension NextStep {
    /// Reads the next step of a source.
    init(source fields: StripeFields, _ method: PaymentMethod?) {
        let details = method.map { fields.object($0.name) } ?? StripeFields(nil)
        let until = method?.traits.sourceLifetime.pending.flatMap { life in
            fields.time("created").map { $0 + life }
        }
        switch (method?.name, fields.word("flow")) {
        case ("wechat", _):
            var code = Code()
            code.data = details.text("qr_code_url")
            code.appURL = details.text("ios_native_url") ?? details.text("native_url")
            code.until = until
            self = code.data == nil && code.appURL == nil ? .none : .scanCode(code)
        case ("multibanco", _):
            var voucher = Voucher()
            voucher.entity = details.text("entity")
            voucher.reference = details.text("reference")
            voucher.url = fields.object("redirect").text("url")
            voucher.until = until
            self = .payVoucher(voucher)
        case (_, "redirect"):
            let redirect = fields.object("redirect")
            guard redirect.word("status") ?? "pending" == "pending" else {
                self = .none
                return
            }
            let app = details.text("native_url")
            let url = redirect.text("url")
            self =
                url == nil && app == nil
                ? .none : .followLink(Link(url: url, appURL: app, until: until))
        case (_, "receiver"): self = .transfer(Transfer(source: fields, details, method))
        case (_, "code_verification"):
            let verification = fields.verification
            guard verification.word("status") ?? "pending" == "pending" else {
                self = .none
                return
            }
            // The codes for a bank account are two small deposits.
            if method?.name == "ach_debit" || method?.name == "acss_debit" {
                var deposits = Microdeposits()
                deposits.sort = "amounts"
                deposits.attemptsLeft = verification.count("attempts_remaining")
                self = .verifyMicrodeposits(deposits)
            } else {
                self = .enterCode(attemptsLeft: verification.count("attempts_remaining"))
            }
        default: self = .none
        }
    }

    /// Reads the next step of an intent.
    init(intent fields: StripeFields) {
        switch fields.word("status") {
        case "requires_payment_method", "requires_source": self = .chooseMethod
        case "requires_confirmation": self = .returnToShop
        case "requires_action", "requires_source_action", "processing":
            let action = fields.object("next_action")
            let type = action.word("type") ?? ""
            if fields.word("status") == "processing", type != "card_await_notification" {
                self = .none
            } else {
                self = NextStep(action: type, action.object(type))
            }
        default: self = .none
        }
    }

    private init(action type: String, _ details: StripeFields) {
        switch type {
        case "redirect_to_url", "alipay_handle_redirect", "wechat_pay_redirect_to_ios_app":
            let link = Link(url: details.text("url"), appURL: details.text("native_url"))
            self = link == Link() ? .returnToShop : .followLink(link)
        case "blik_authorize": self = .approveInApp(until: nil)
        case "boleto_display_details", "oxxo_display_details", "multibanco_display_details",
            "konbini_display_details":
            self = .payVoucher(Voucher(details))
        case "card_await_notification":
            self = .awaitDebit(
                at: details.time("charge_attempt_at"),
                needsApproval: details.flag("customer_approval_required") ?? false
            )
        case "display_bank_transfer_instructions": self = .transfer(Transfer(details))
        case "klarna_display_qr_code", "paynow_display_qr_code", "pix_display_qr_code",
            "promptpay_display_qr_code", "wechat_pay_display_qr_code",
            "cashapp_handle_redirect_or_display_qr_code",
            "swish_handle_redirect_or_display_qr_code", "upi_handle_redirect_or_display_qr_code":
            self = .scanCode(Code(details))
        case "verify_with_microdeposits":
            var deposits = Microdeposits()
            deposits.sort = details.word("microdeposit_type")
            deposits.arrivesAt = details.time("arrival_date")
            deposits.url = details.text("hosted_verification_url")
            self = .verifyMicrodeposits(deposits)
        default:
            // `use_stripe_sdk`, WeChat on Android, and types that Stripe may add.
            let names = ["url", "hosted_instructions_url", "hosted_voucher_url"]
            let page = names.lazy.compactMap { details.text($0) }.first
            self = page.map { .followLink(Link(url: $0)) } ?? .returnToShop
        }
    }
}

extension NextStep.Voucher {
    /// Reads the voucher of an intent.
    fileprivate init(_ details: StripeFields) {
        self.init()
        entity = details.text("entity")
        reference = details.text("reference")
        number = details.text("number")
        url = details.text("hosted_voucher_url")
        pdf = details.text("pdf")
        until = details.time("expires_at") ?? details.time("expires_after")
        stores = details.object("stores").objects.compactMap { name, shop in
            shop.text("payment_code").map { code in
                Store(
                    name: name,
                    paymentCode: code,
                    confirmationNumber: shop.text("confirmation_number")
                )
            }
        }
    }
}

extension NextStep.Code {
    /// Reads the code of an intent; some types nest it in `qr_code`.
    fileprivate init(_ details: StripeFields) {
        self.init()
        let own = details.object("qr_code")
        let code = own.isEmpty ? details : own
        data = code.text("data")
        imageURL = code.text("image_url_svg") ?? code.text("image_url_png")
        url = details.text("hosted_instructions_url")
        appURL = details.text("mobile_auth_url")
        until = code.time("expires_at")
    }
}

extension NextStep.Transfer {
    /// Reads the transfer to the account of a source.
    fileprivate init(source fields: StripeFields, _ details: StripeFields, _ method: PaymentMethod?)
    {
        self.init()
        let scheme =
            switch method?.name {
            case "ach_credit_transfer": "aba"
            case "sepa_credit_transfer": "iban"
            default: "address"
            }
        var account = NextStep.BankAccount(scheme: scheme)
        account.bank = details.text("bank_name")
        account.iban = details.text("iban")
        account.bic = details.text("bic") ?? details.text("swift_code")
        account.number = details.text("account_number")
        account.bankCode = details.text("routing_number")
        let receiver = fields.object("receiver")
        // An account without known parts is shown as Stripe's address string.
        if account.iban == nil, account.number == nil { account.number = receiver.text("address") }
        accounts = [account]
        currency = fields.word("currency")
        let kept =
            (receiver.sum("amount_received") ?? .zero) - (receiver.sum("amount_returned") ?? .zero)
        amountMissing = fields.sum("amount").map { max(.zero, $0 - kept) }
    }

    /// Reads the transfer for an intent.
    fileprivate init(_ details: StripeFields) {
        self.init()
        reference = details.text("reference")
        amountMissing = details.sum("amount_remaining")
        currency = details.word("currency")
        url = details.text("hosted_instructions_url")
        accounts = details.list("financial_addresses").compactMap { address in
            address.word("type").map { NextStep.BankAccount($0, address.object($0)) }
        }
    }
}

extension NextStep.BankAccount {
    /// Reads a financial address of the type `scheme`.
    fileprivate init(_ scheme: String, _ details: StripeFields) {
        self.init(scheme: scheme)
        holder = details.text("account_holder_name")
        bank = details.text("bank_name")
        iban = details.text("iban")
        bic = details.text("bic") ?? details.text("swift_code")
        // The number of a Mexican account is its CLABE.
        number = details.text("clabe") ?? details.text("account_number")
        accountType = details.text("account_type")
        bankCode =
            details.text("routing_number") ?? details.text("sort_code") ?? details.text("bank_code")
        branchCode = details.text("branch_code")
        branchName = details.text("branch_name")
    }
}
