import ArgumentParser
import StripeAPI
import Testing

@testable import pollerctl

@Suite("pollerctl source create maps options to Stripe parameters")
struct SourceMethodTests {
    private static let url = "https://pay.example/r"
    private static let sum = ["--amount", "1099"]
    private static let page = ["--return-url", url]
    private static let text = ["--statement-descriptor", "Shop"]
    private static let jenny = ["--name", "Jenny Rosen"]
    private static let euros = ["--currency", "eur"]
    private static let home = [
        "--line1", "Street 1", "--city", "Berlin", "--postal-code", "10115", "--country", "DE",
    ]
    private static let address = StripeAddress(
        line1: "Street 1",
        city: "Berlin",
        postalCode: "10115",
        country: "DE"
    )

    static let redirects: [(String, [String], SourceParams)] = [
        (
            "bancontact", sum + page + jenny + text,
            .bancontact(
                amount: 1099,
                name: "Jenny Rosen",
                returnURL: url,
                statementDescriptor: "Shop"
            )
        ),
        (
            "giropay", sum + page + jenny + text,
            .giropay(amount: 1099, name: "Jenny Rosen", returnURL: url, statementDescriptor: "Shop")
        ),
        (
            "ideal", sum + page + jenny + text + ["--bank", "ing"],
            .ideal(
                amount: 1099,
                name: "Jenny Rosen",
                returnURL: url,
                statementDescriptor: "Shop",
                bank: "ing"
            )
        ),
        (
            "sofort", sum + page + text + ["--country", "DE"],
            .sofort(amount: 1099, returnURL: url, country: "DE", statementDescriptor: "Shop")
        ),
        (
            "eps", sum + page + jenny + text,
            .eps(amount: 1099, name: "Jenny Rosen", returnURL: url, statementDescriptor: "Shop")
        ),
        (
            "p24", sum + euros + page + jenny + ["--email", "j@example.com"],
            .p24(
                amount: 1099,
                currency: "eur",
                email: "j@example.com",
                name: "Jenny Rosen",
                returnURL: url
            )
        ),
        (
            "alipay", sum + euros + page + ["--app-bundle-id", "b", "--app-version-key", "v"],
            .alipay(
                amount: 1099,
                currency: "eur",
                returnURL: url,
                appBundleID: "b",
                appVersionKey: "v"
            )
        ),
        ("alipay_reusable", euros + page, .alipayReusable(currency: "eur", returnURL: url)),
        (
            "three_d_secure", sum + euros + page + ["--card", "src_1"],
            .threeDSecure(amount: 1099, currency: "eur", returnURL: url, card: "src_1")
        ),
    ]

    static let others: [(String, [String], SourceParams)] = [
        (
            "card",
            jenny + home
                + ["--number", "4242", "--cvc", "123", "--exp-month", "1", "--exp-year", "2034"],
            .card(
                CardParams(
                    number: "4242",
                    cvc: "123",
                    expMonth: 1,
                    expYear: 2034,
                    name: "Jenny Rosen",
                    address: address
                )
            )
        ),
        (
            "sepa_debit", jenny + home + ["--iban", "DE89"],
            .sepaDebit(
                name: "Jenny Rosen",
                iban: "DE89",
                addressLine1: "Street 1",
                city: "Berlin",
                postalCode: "10115",
                country: "DE"
            )
        ),
        ("visa_checkout", ["--call-id", "1"], .visaCheckout(callID: "1")),
        (
            "masterpass", ["--cart-id", "1", "--transaction-id", "2"],
            .masterpass(cartID: "1", transactionID: "2")
        ),
        (
            "multibanco", sum + page + ["--email", "j@example.com"],
            .multibanco(amount: 1099, returnURL: url, email: "j@example.com")
        ),
        (
            "wechat", sum + euros + text + ["--app-id", "wx0"],
            .weChatPay(amount: 1099, currency: "eur", appID: "wx0", statementDescriptor: "Shop")
        ),
        (
            "bitcoin", sum + euros + ["--email", "j@example.com"],
            .bitcoin(amount: 1099, currency: "eur", email: "j@example.com")
        ),
        (
            "sepa_credit_transfer", euros + jenny + ["--refund-attributes", "manual"],
            .sepaCreditTransfer(name: "Jenny Rosen", refundAttributesMethod: .manual)
        ),
    ]

    static let wrong: [(String, [String], String)] = [
        ("ideal", sum, "ideal is missing --return-url"),
        ("ideal", sum + page + ["--iban", "X"], "ideal does not accept --iban"),
        ("card", [], "card requires --token, or --number"),
        ("ach_debit", ["--bank", "x"], "send other fields with --param ach_debit[NAME]=VALUE"),
        ("Ideal!", [], "TYPE is a payment method"),
        ("klarna", euros + page + ["--purchase-country", "DE", "--item", "Shoes"], "AMOUNT:"),
    ]

    private func form(_ name: String, _ options: [String]) throws -> [String] {
        try SourceMethod.form(name, SourceFields.parse(options)).map { "\($0)=\($1)" }
    }

    @Test(
        "a method sends the same form as the library's constructor",
        arguments: redirects + others
    )
    func constructor(name: String, options: [String], params: SourceParams) throws {
        #expect(try form(name, options).sorted() == params.form.map { "\($0)=\($1)" }.sorted())
    }

    @Test("Klarna receives the items, and the customer only if the data is complete")
    func klarna() throws {
        let bought = ["--item", "1000:Shoes", "--item", "99:Post", "--purchase-country", "DE"]
        var klarna = KlarnaParams(
            currency: "eur",
            purchaseCountry: "DE",
            items: [
                .init(.sku, "Shoes", totalAmount: 1000), .init(.sku, "Post", totalAmount: 99),
            ]
        )
        let some =
            Self.euros + Self.page + bought + ["--first-name", "Jenny", "--email", "j@example.com"]
        let bare = SourceParams.klarna(returnURL: Self.url, klarna).form.map { "\($0)=\($1)" }
        #expect(try form("klarna", some).sorted() == bare.sorted())
        klarna.billing = KlarnaParams.Billing(
            firstName: "Jenny",
            lastName: "Rosen",
            address: Self.address,
            email: "j@example.com",
            phone: "1"
        )
        let all = some + Self.home + ["--last-name", "Rosen", "--phone", "1"]
        let whole = SourceParams.klarna(returnURL: Self.url, klarna).form.map { "\($0)=\($1)" }
        #expect(try form("klarna", all).sorted() == whole.sorted())
    }

    @Test("the mandate acceptance is sent with any method")
    func consent() throws {
        let online = ["--mandate-ip", "192.0.2.1", "--mandate-user-agent", "M"]
        let page = try form("sepa_debit", Self.jenny + ["--iban", "DE89"] + online)
        #expect(page.contains("mandate[acceptance][status]=accepted"))
        #expect(page.contains("mandate[acceptance][type]=online"))
        #expect(page.contains("mandate[acceptance][ip]=192.0.2.1"))
        #expect(page.contains { $0.hasPrefix("mandate[acceptance][date]=") })
        let paper = try form("card", ["--token", "tok_1", "--mandate-contact", "a@example.com"])
        #expect(paper.contains("mandate[acceptance][type]=offline"))
        #expect(paper.contains("mandate[acceptance][offline][contact_email]=a@example.com"))
    }

    @Test("an error lists the options", arguments: wrong)
    func mistakes(name: String, options: [String], said: String) {
        let error = #expect(throws: ValidationError.self) { try form(name, options) }
        #expect(error?.message.contains(said) == true)
    }
}
