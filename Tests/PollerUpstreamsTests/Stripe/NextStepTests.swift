import JSONText
import PollerIdentity
import PollerPayments
import PollerTesting
import Testing

@testable import PollerUpstreams

@Suite("The customer's next step in Stripe's objects")
struct NextStepTests {
    private func step(_ kind: SourceKind, _ text: String) throws -> NextStep {
        let facts = PaymentFacts(kind, object: try #require(RawJSON(text), "\(text)"))
        return NextStep(facts, Payment(facts))
    }

    private func step(action type: String, _ details: String) throws -> NextStep {
        let action = #"{"type":"\#(type)","\#(type)":\#(details)}"#
        return try step(
            .paymentIntent,
            #"{"id":"pi_1","status":"requires_action","amount":1000,"next_action":\#(action)}"#
        )
    }

    /// The members of each action, named as in stripe-python 16.1.0.
    private static let actions: [String: (details: String, name: String)] = [
        "redirect_to_url": (#"{"url":"https://a/b","return_url":"https://c"}"#, "follow_link"),
        "alipay_handle_redirect": (
            #"{"url":"https://a","native_url":"alipays://x","native_data":"y"}"#, "follow_link"
        ),
        "wechat_pay_redirect_to_ios_app": (#"{"native_url":"weixin://x"}"#, "follow_link"),
        "wechat_pay_redirect_to_android_app": (
            #"{"app_id":"a","nonce_str":"b"}"#, "return_to_shop"
        ),
        "use_stripe_sdk": (#"{"type":"three_d_secure_redirect"}"#, "return_to_shop"),
        "blik_authorize": ("{}", "approve_in_app"),
        "card_await_notification": (
            #"{"charge_attempt_at":1796083200,"customer_approval_required":true}"#, "await_debit"
        ),
        "boleto_display_details": (
            #"{"number":"01010","hosted_voucher_url":"https://a","pdf":"https://b","expires_at":1796083200}"#,
            "pay_voucher"
        ),
        "oxxo_display_details": (
            #"{"number":"1234","hosted_voucher_url":"https://a","expires_after":1796083200}"#,
            "pay_voucher"
        ),
        "multibanco_display_details": (
            #"{"entity":"12345","reference":"999 123 456","expires_at":1796083200}"#, "pay_voucher"
        ),
        "konbini_display_details": (
            #"{"expires_at":1796083200,"stores":{"lawson":{"payment_code":"1","confirmation_number":"2"},"familymart":{"payment_code":"3","confirmation_number":null}}}"#,
            "pay_voucher"
        ),
        "display_bank_transfer_instructions": (
            #"{"amount_remaining":1000,"currency":"eur","reference":"R1","type":"eu_bank_transfer","financial_addresses":[{"type":"iban","iban":{"iban":"DE1","bic":"SOGEDEFF","account_holder_name":"Shop","country":"DE"}},{"type":"aba","aba":{"account_number":"9","routing_number":"8","bank_name":"B"}},{"type":"sort_code","sort_code":{"account_number":"9","sort_code":"200000"}},{"type":"spei","spei":{"clabe":"7","bank_code":"002","bank_name":"B"}},{"type":"swift","swift":{"account_number":"9","swift_code":"AAAA"}},{"type":"zengin","zengin":{"account_holder_name":"Shop","account_number":"9","account_type":"futsu","bank_code":"1","bank_name":"B","branch_code":"2","branch_name":"N"}}]}"#,
            "transfer"
        ),
        "klarna_display_qr_code": (#"{"data":"k","expires_at":1796083200}"#, "scan_code"),
        "paynow_display_qr_code": (#"{"data":"p","image_url_svg":"https://a"}"#, "scan_code"),
        "pix_display_qr_code": (#"{"data":"x","expires_at":1796083200}"#, "scan_code"),
        "promptpay_display_qr_code": (#"{"data":"t","image_url_png":"https://a"}"#, "scan_code"),
        "wechat_pay_display_qr_code": (#"{"data":"weixin://wxpay/b?pr=1"}"#, "scan_code"),
        "cashapp_handle_redirect_or_display_qr_code": (
            #"{"mobile_auth_url":"https://m","hosted_instructions_url":"https://h","qr_code":{"expires_at":1796083200,"image_url_svg":"https://a"}}"#,
            "scan_code"
        ),
        "swish_handle_redirect_or_display_qr_code": (
            #"{"mobile_auth_url":"https://m","hosted_instructions_url":"https://h","qr_code":{"data":"s","expires_at":1796083200}}"#,
            "scan_code"
        ),
        "upi_handle_redirect_or_display_qr_code": (
            #"{"hosted_instructions_url":"https://u","qr_code":{"expires_at":1796083200}}"#,
            "scan_code"
        ),
        "verify_with_microdeposits": (
            #"{"arrival_date":1796083200,"hosted_verification_url":"https://a","microdeposit_type":"descriptor_code"}"#,
            "verify_microdeposits"
        ),
    ]

    @Test("every next action of an intent is a step, with the time limit if Stripe gives one")
    func actions() throws {
        let known = try StripeFixtures.words("payment_intent.next_action")
        #expect(Set(known) == Set(Self.actions.keys))
        let ofSetups = try StripeFixtures.words("setup_intent.next_action")
        #expect(Set(ofSetups).isSubset(of: Self.actions.keys))
        var fingerprints: Set<String> = []
        for (type, (details, name)) in Self.actions {
            let step = try step(action: type, details)
            #expect(step.name == name, "\(type)")
            let hasExpiry = details.contains("expires_a") || type == "card_await_notification"
            #expect(step.until == (hasExpiry ? Timestamp(ms: 1_796_083_200_000) : nil), "\(type)")
            fingerprints.insert(step.fingerprint)
            // Links are only for the payer, so they never appear in logs.
            #expect("\(step)" == name && String(reflecting: step).contains("://") == false)
        }
        // Two actions lead only back to the shop and are equal.
        #expect(fingerprints.count == Self.actions.count - 1)
    }

    @Test("only the host of a Stripe page counts, because its path changes with each response")
    func signedPages() throws {
        func print(_ url: String) throws -> String {
            try step(action: "redirect_to_url", #"{"url":"\#(url)"}"#).fingerprint
        }
        let first = try print("https://hooks.stripe.com/redirect/a/1?secret=x")
        #expect(try first == print("https://hooks.stripe.com/redirect/b/2#y"))
        #expect(try first != print("https://payments.stripe.com/redirect/a/1"))
        #expect(try print("https://a.example/1") != print("https://a.example/2"))
        #expect(try print("https://stripe.com.example/1") != print("https://stripe.com.example/2"))
    }

    @Test("a transfer has its accounts, its reference and the missing amount")
    func transfers() throws {
        let details = try #require(Self.actions["display_bank_transfer_instructions"]?.details)
        guard
            case .transfer(let transfer) = try step(
                action: "display_bank_transfer_instructions",
                details
            )
        else { return fail("no transfer") }
        #expect(transfer.reference == "R1" && transfer.amountMissing == 1000)
        let transferFields = transfer.accounts.map { account in
            [account.scheme, account.iban, account.bic, account.number, account.bankCode]
                .map { $0 ?? "" }.joined(separator: " ")
        }
        #expect(
            transferFields == [
                "iban DE1 SOGEDEFF  ", "aba   9 8", "sort_code   9 200000", "spei   7 002",
                "swift  AAAA 9 ", "zengin   9 1",
            ]
        )
        var japanese = NextStep.BankAccount(scheme: "zengin")
        japanese.holder = "Shop"
        japanese.bank = "B"
        japanese.number = "9"
        japanese.accountType = "futsu"
        japanese.bankCode = "1"
        japanese.branchCode = "2"
        japanese.branchName = "N"
        #expect(transfer.accounts.last == japanese)
        let source = try step(
            .source,
            #"""
            {"id":"src_1","status":"pending","flow":"receiver","type":"ach_credit_transfer",
            "amount":1000,"currency":"usd","receiver":{"address":"1-2","amount_received":400,
            "amount_returned":0},"ach_credit_transfer":{"account_number":"test_5",
            "routing_number":"110000000","bank_name":"TEST BANK","swift_code":"TSTEZ122"}}
            """#
        )
        guard case .transfer(let ofSource) = source, let account = ofSource.accounts.first else {
            return fail("no transfer: \(source)")
        }
        #expect(ofSource.amountMissing == 600 && account.number == "test_5")
        #expect(account.bankCode == "110000000" && account.bic == "TSTEZ122")
    }

    @Test("the payment codes of stores are in order")
    func stores() throws {
        let details = try #require(Self.actions["konbini_display_details"]?.details)
        guard case .payVoucher(let voucher) = try step(action: "konbini_display_details", details)
        else { return fail("no voucher") }
        #expect(voucher.stores.map(\.name) == ["familymart", "lawson"])
        #expect(voucher.stores.map(\.paymentCode) == ["3", "1"])
        #expect(voucher.stores.map(\.confirmationNumber) == [nil, "2"])
    }

    @Test("Stripe's example sources have the next step of their method")
    func sources() throws {
        let expected = [
            "alipay": "follow_link", "bancontact": "follow_link", "card": "none",
            "multibanco": "pay_voucher", "sepa_debit": "none", "sofort": "follow_link",
            "three_d_secure": "follow_link", "wechat": "scan_code",
        ]
        for example in try StripeFixtures.objects("source_examples", "sources") {
            let facts = PaymentFacts(.source, object: example.value)
            let step = NextStep(facts, Payment(facts))
            #expect(step.name == expected[example.name], "\(example.name)")
        }
        let bancontact = try step(
            .source,
            #"""
            {"status":"pending","flow":"redirect","type":"bancontact","created":1796083200,
            "redirect":{"status":"pending","url":"https://hooks.stripe.com/r?client_secret=s"}}
            """#
        )
        // Such a source expires after an hour.
        #expect(bancontact.until == Timestamp(ms: 1_796_086_800_000))
        let code = #""type":"newpay","flow":"code_verification","code_verification":"#
        let left = try step(
            .source,
            #"{"status":"pending",\#(code){"status":"pending","attempts_remaining":3}}"#
        )
        #expect(left == .enterCode(attemptsLeft: 3))
        let over = try step(.source, #"{"status":"pending",\#(code){"status":"failed"}}"#)
        #expect(over == .none)
    }

    @Test("a step ends with the wait for the customer, and a failed attempt requires a new method")
    func states() throws {
        let action =
            #""next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"https://a"}}"#
        #expect(
            try step(.paymentIntent, #"{"status":"requires_action","amount":5,\#(action)}"#).name
                == "follow_link"
        )
        for status in ["processing", "requires_capture", "succeeded", "canceled"] {
            let text = #"{"status":"\#(status)","amount":5,"amount_received":5,\#(action)}"#
            #expect(try step(.paymentIntent, text) == .none, "\(status)")
        }
        let failed =
            #"{"status":"requires_payment_method","last_payment_error":{"code":"card_declined"}}"#
        #expect(try step(.paymentIntent, failed) == .chooseMethod)
        #expect(try step(.setupIntent, #"{"status":"requires_confirmation"}"#) == .returnToShop)
        // An unknown action leads to its page, or back to the shop.
        #expect(try step(action: "levitate", #"{"url":"https://a"}"#).name == "follow_link")
        #expect(try step(action: "levitate", "{}") == .returnToShop)
    }
}
