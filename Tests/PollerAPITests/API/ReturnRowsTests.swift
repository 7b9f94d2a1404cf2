import Foundation
import PollerIdentity
import PollerLocalization
import PollerPayments
import Testing

@testable import PollerAPI

@Suite("Next steps on the return page")
struct ReturnRowsTests {
    /// Returns the page as it is sent.
    func html(
        _ state: PaymentState,
        _ step: NextStep,
        language: PayerLanguage = .en,
        loads: Int = 0,
        branding: Branding? = nil
    ) -> (text: String, policy: String) {
        let payment = Payment(
            state: state,
            amount: 1099,
            amountReceived: state == .partiallyPaid ? 599 : 0,
            currency: "eur",
            method: PaymentMethod("sepa_credit_transfer")
        )
        let words = PayerWords.in(language)
        let update = ReturnUpdate(
            payment,
            step,
            of: Purchase(order: "A77", shop: branding?.name),
            isFirst: loads < 3,
            in: words
        )
        let page = ReturnPage(branding)
        let text = page.text(
            update,
            in: words,
            seq: 1,
            isLive: false,
            path: ReturnPaths(
                WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)
            ),
            loads: loads
        )
        return (text, page.policy)
    }

    /// A transfer to an account in euro with an amount and a reference.
    static let transfer: NextStep = {
        var account = NextStep.BankAccount(scheme: "iban")
        account.iban = "DE89370400440532013000"
        account.bic = "COBADEFFXXX"
        account.holder = "Shop <GmbH>"
        var transfer = NextStep.Transfer()
        transfer.accounts = [account]
        transfer.reference = "F-7"
        transfer.amountMissing = 500
        transfer.currency = "eur"
        return .transfer(transfer)
    }()

    @Test("a transfer shows account details to copy and a code to scan")
    func transfer() throws {
        for state in [PaymentState.awaitingCustomer, .partiallyPaid] {
            let page = html(state, Self.transfer).text
            #expect(page.contains(#"data-state="action""#))
            #expect(page.contains("DE89 3704 0044 0532 0130 00"))
            #expect(page.contains(#"data-copy="DE89370400440532013000""#))
            #expect(page.contains(#"data-copy="F-7""#) && page.contains("Shop &lt;GmbH&gt;"))
            #expect(page.contains("<svg id=\"code\"") && page.contains("€5.00"))
            #expect(page.contains("<dd><span>A77</span></dd>"))
        }
        let german = html(.partiallyPaid, Self.transfer, language: .de).text
        #expect(german.contains(#"<html lang="de">"#) && german.contains("Verwendungszweck"))
        #expect(german.contains("5,99\u{A0}€ von 10,99\u{A0}€ eingegangen"))
        // A paid payment shows no transfer details.
        let paid = html(.paid, Self.transfer).text
        #expect(!paid.contains("DE89") && !paid.contains("<svg"))
    }

    @Test("a voucher shows its numbers, and copies them without spaces")
    func voucher() throws {
        var voucher = NextStep.Voucher()
        voucher.entity = "12345"
        voucher.reference = "999 123 456"
        voucher.url = "https://stripe.example/voucher"
        voucher.stores = [.init(name: "lawson", paymentCode: "1-2", confirmationNumber: "3")]
        let page = html(.awaitingCustomer, .payVoucher(voucher)).text
        #expect(page.contains("999 123 456") && page.contains(#"data-copy="999123456""#))
        #expect(page.contains("Lawson: Payment code") && page.contains("View voucher"))
        #expect(page.contains(#"href="https://stripe.example/voucher" rel="noreferrer""#))
    }

    @Test("a returning customer first waits, and can then follow the link again")
    func link() throws {
        let step = NextStep.followLink(.init(url: "https://bank.example/go?a=1&b=2"))
        let first = html(.awaitingCustomer, step).text
        #expect(first.contains(#"data-state="confirming""#) && first.contains(#"data-late="load""#))
        #expect(!first.contains("bank.example"))
        let later = html(.awaitingCustomer, step, loads: 3).text
        #expect(later.contains(#"data-state="action""#) && later.contains("not complete"))
        #expect(later.contains(#"href="https://bank.example/go?a=1&amp;b=2""#))
        let view = { (page: String) in page.components(separatedBy: "data-view=").last?.prefix(10) }
        #expect(view(first) == view(later), "what it shows after some seconds is no news")
        let evil = NextStep.followLink(.init(url: "javascript:alert(1)"))
        #expect(!html(.awaitingCustomer, evil, loads: 3).text.contains("javascript:"))
    }

    @Test("a code is drawn from its text, and no image is loaded")
    func code() throws {
        var code = NextStep.Code()
        code.data = "weixin://wxpay/bizpayurl?pr=abc"
        code.imageURL = "https://evil.example/code.png"
        let page = html(.awaitingCustomer, .scanCode(code)).text
        #expect(page.contains("<svg id=\"code\"") && !page.contains("evil.example"))
    }

    @Test("a shop's colour and logo are shown, and the policy adds only the logo")
    func branding() throws {
        let shop = try Branding(
            name: "Shop & Co",
            homeURL: "https://shop.example/",
            support: "help@shop.example",
            colour: "#ffcc00",
            logoURL: "https://shop.example/logo.png?v=1"
        )
        let page = html(.paid, .none, branding: shop)
        #expect(page.text.contains("--brand: #ffcc00; --brand-ink: #000000"))
        #expect(
            page.text.contains(
                #"<img src="https://shop.example/logo.png?v=1" alt="Shop &amp; Co">"#
            )
        )
        #expect(page.text.contains(#"<a href="mailto:help@shop.example">help@shop.example</a>"#))
        #expect(page.text.contains("Back to Shop &amp; Co</a>"))
        #expect(page.policy.contains("img-src https://shop.example/logo.png; "))
        #expect(!page.policy.contains("unsafe") && !page.policy.contains("*"))
        let plain = html(.paid, .none)
        #expect(!plain.policy.contains("img-src") && !plain.text.contains("<img"))
        // A URL that would end the directive is not used as a logo.
        let odd = try Branding(name: "S", logoURL: "https://shop.example/a;script-src/x.png")
        let safe = html(.paid, .none, branding: odd)
        #expect(!safe.policy.contains("img-src") && !safe.text.contains("<img"))
    }
}
