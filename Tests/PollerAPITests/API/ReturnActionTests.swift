import Foundation
import PollerIdentity
import PollerLocalization
import PollerPayments
import Testing

@testable import PollerAPI

/// The button on the page of a closed payment, and the account of a transfer.
@Suite("The payer's next step on the return page")
struct ReturnActionTests {
    private static func shop(holder: String? = nil) throws -> Branding {
        try Branding(
            name: "Shop & Co",
            homeURL: "https://shop.example/orders",
            accountHolder: holder
        )
    }

    private static func page(
        _ state: PaymentState,
        _ step: NextStep = .none,
        branding: Branding?
    ) -> (html: String, update: ReturnUpdate) {
        let words = PayerWords.in(.en)
        let update = ReturnUpdate(
            Payment(state: state, amount: 1099, currency: "eur"),
            step,
            of: Purchase(
                order: "A77",
                shop: branding?.name,
                payee: branding?.accountHolder ?? branding?.name
            ),
            isFirst: false,
            in: words
        )
        let html = ReturnPage(branding).text(
            update,
            in: words,
            seq: 1,
            isLive: true,
            path: ReturnPaths(
                WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)
            ),
            loads: 3
        )
        return (html, update)
    }

    private static let button =
        "<p id=\"links\"><a href=\"https://shop.example/orders\" rel=\"noreferrer\">"
        + "Back to Shop &amp; Co</a></p>"

    @Test(
        "after the payment has ended, the shop link is a button and occurs once",
        arguments: [PaymentState.paid, .failed, .expired, .cancelled, .refunded]
    )
    func ended(state: PaymentState) throws {
        let html = Self.page(state, branding: try Self.shop()).html
        #expect(html.contains(Self.button), "\(html)")
        #expect(html.components(separatedBy: "https://shop.example/orders").count == 2)
    }

    @Test("before the end, the shop link is in the footer, and without a shop there is none")
    func open() throws {
        let shop = try Self.shop()
        for state in [PaymentState.processing, .authorised, .awaitingCustomer] {
            let html = Self.page(state, branding: shop).html
            #expect(!html.contains("id=\"links\""), "\(state)")
            #expect(html.contains("Back to Shop &amp; Co</a>"), "\(state)")
        }
        #expect(!Self.page(.paid, branding: nil).html.contains("id=\"links\""))
    }

    @Test("an open page reloads when the button appears")
    func view() throws {
        let shop = try Self.shop()
        let waiting = Self.page(.processing, branding: shop).update
        #expect(waiting.view != Self.page(.paid, branding: shop).update.view)
    }

    @Test("a setup that takes longer is not called an order")
    func lateSetup() {
        let words = PayerWords.in(.en)
        func html(isSetup: Bool) -> String {
            ReturnPage().text(
                ReturnUpdate(
                    Payment(state: .awaitingCustomer),
                    .none,
                    of: Purchase(isSetup: isSetup),
                    isFirst: true,
                    in: words
                ),
                in: words,
                seq: 1,
                isLive: true,
                path: ReturnPaths(
                    WatchKey(
                        account: .main,
                        source: SourceID(unchecked: "seti_1"),
                        kind: .setupIntent
                    )
                ),
                loads: 0
            )
        }
        let title = "data-late-title=\""
        #expect(html(isSetup: false).contains(title + "Order received\""))
        #expect(html(isSetup: true).contains(title + "Confirming your payment method\""))
    }

    @Test("a transfer's payee is the upstream's, else the configured holder, else the shop")
    func payee() throws {
        var account = NextStep.BankAccount(scheme: "iban")
        account.iban = "DE89370400440532013000"
        var transfer = NextStep.Transfer()
        transfer.accounts = [account]
        let unnamed = Self.page(
            .awaitingCustomer,
            .transfer(transfer),
            branding: try Self.shop()
        ).html
        #expect(unnamed.contains("<dt>Payee</dt><dd><span>Shop &amp; Co</span>"), "\(unnamed)")
        let configured = Self.page(
            .awaitingCustomer,
            .transfer(transfer),
            branding: try Self.shop(holder: "Shop Holding GmbH")
        ).html
        #expect(configured.contains("<span>Shop Holding GmbH</span>"))
        account.holder = "Stripe Technology Europe Limited"
        transfer.accounts = [account]
        let brandedPage = Self.page(
            .awaitingCustomer,
            .transfer(transfer),
            branding: try Self.shop(holder: "Shop Holding GmbH")
        ).html
        #expect(brandedPage.contains("<span>Stripe Technology Europe Limited</span>"))
        #expect(!brandedPage.contains("Shop Holding"))
    }

    @Test("an IBAN is shown in groups on one line, and copied without spaces")
    func iban() throws {
        var account = NextStep.BankAccount(scheme: "iban")
        account.iban = "DE89370400440532013000"
        account.bic = "COBADEFFXXX"
        var transfer = NextStep.Transfer()
        transfer.accounts = [account]
        let html = Self.page(.awaitingCustomer, .transfer(transfer), branding: nil).html
        #expect(html.contains("<span class=\"unbroken\">DE89 3704 0044 0532 0130 00</span>"))
        #expect(html.contains("data-copy=\"DE89370400440532013000\""))
        #expect(html.contains("<span>COBADEFFXXX</span>"))
        #expect(html.contains(".unbroken { white-space: nowrap;"))
    }
}
