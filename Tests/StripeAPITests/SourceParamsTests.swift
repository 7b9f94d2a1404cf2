import StripeAPI
import Testing

/// The form of each constructor, according to the tables of Stripe's SDK.
@Suite struct SourceParamsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let params: SourceParams
        let form: [String: String]

        var testDescription: String { name }

        init(_ name: String, _ params: SourceParams, _ form: [String: String]) {
            self.name = name
            self.params = params
            self.form = form
        }
    }

    static let back = "https://shop.example/back"

    static let redirects = [
        Row(
            "bancontact",
            .bancontact(amount: 1099, name: "Jenny", returnURL: back, statementDescriptor: "O 1"),
            [
                "type": "bancontact", "amount": "1099", "currency": "eur", "owner[name]": "Jenny",
                "redirect[return_url]": back, "bancontact[statement_descriptor]": "O 1",
            ]
        ),
        Row(
            "bancontact without descriptor",
            .bancontact(amount: 1099, name: "Jenny", returnURL: back),
            [
                "type": "bancontact", "amount": "1099", "currency": "eur", "owner[name]": "Jenny",
                "redirect[return_url]": back,
            ]
        ),
        Row(
            "giropay",
            .giropay(amount: 1, name: "Jenny", returnURL: back, statementDescriptor: "O 1"),
            [
                "type": "giropay", "amount": "1", "currency": "eur", "owner[name]": "Jenny",
                "redirect[return_url]": back, "giropay[statement_descriptor]": "O 1",
            ]
        ),
        Row(
            "ideal",
            .ideal(
                amount: 1,
                name: "Jenny",
                returnURL: back,
                statementDescriptor: "O 1",
                bank: "ing"
            ),
            [
                "type": "ideal", "amount": "1", "currency": "eur", "owner[name]": "Jenny",
                "redirect[return_url]": back, "ideal[statement_descriptor]": "O 1",
                "ideal[bank]": "ing",
            ]
        ),
        Row(
            "ideal with an empty name",
            .ideal(amount: 1, name: "", returnURL: back),
            ["type": "ideal", "amount": "1", "currency": "eur", "redirect[return_url]": back]
        ),
        Row(
            "sofort",
            .sofort(amount: 100, returnURL: back, country: "DE", statementDescriptor: "O 1"),
            [
                "type": "sofort", "amount": "100", "currency": "eur", "redirect[return_url]": back,
                "sofort[country]": "DE", "sofort[statement_descriptor]": "O 1",
            ]
        ),
        Row(
            "eps",
            .eps(amount: 1, name: "Jenny", returnURL: back, statementDescriptor: "O 1"),
            [
                "type": "eps", "amount": "1", "currency": "eur", "owner[name]": "Jenny",
                "redirect[return_url]": back, "statement_descriptor": "O 1",
            ]
        ),
        Row(
            "p24",
            .p24(amount: 1, currency: "pln", email: "j@x.pl", name: "Jenny", returnURL: back),
            [
                "type": "p24", "amount": "1", "currency": "pln", "owner[email]": "j@x.pl",
                "owner[name]": "Jenny", "redirect[return_url]": back,
            ]
        ),
        Row(
            "alipay",
            .alipay(
                amount: 1,
                currency: "usd",
                returnURL: back,
                appBundleID: "com.shop",
                appVersionKey: "2.0"
            ),
            [
                "type": "alipay", "amount": "1", "currency": "usd", "redirect[return_url]": back,
                "alipay[app_bundle_id]": "com.shop", "alipay[app_version_key]": "2.0",
            ]
        ),
        Row(
            "alipay, reusable",
            .alipayReusable(currency: "usd", returnURL: back),
            [
                "type": "alipay", "currency": "usd", "redirect[return_url]": back,
                "usage": "reusable",
            ]
        ),
        Row(
            "three_d_secure",
            .threeDSecure(amount: 1, currency: "usd", returnURL: back, card: "src_card"),
            [
                "type": "three_d_secure", "amount": "1", "currency": "usd",
                "redirect[return_url]": back, "three_d_secure[card]": "src_card",
            ]
        ),
    ]

    static let others = [
        Row(
            "card",
            .card(
                CardParams(
                    number: "4242424242424242",
                    cvc: "123",
                    expMonth: 8,
                    expYear: 2030,
                    name: "Jenny",
                    address: StripeAddress(
                        line1: "a",
                        line2: "b",
                        city: "c",
                        state: "d",
                        postalCode: "e",
                        country: "US"
                    )
                )
            ),
            [
                "type": "card", "card[number]": "4242424242424242", "card[cvc]": "123",
                "card[exp_month]": "8", "card[exp_year]": "2030", "owner[name]": "Jenny",
                "owner[address][line1]": "a", "owner[address][line2]": "b",
                "owner[address][city]": "c", "owner[address][state]": "d",
                "owner[address][postal_code]": "e", "owner[address][country]": "US",
            ]
        ),
        Row(
            "sepa_debit",
            .sepaDebit(
                name: "Jenny",
                iban: "DE89",
                addressLine1: "a",
                city: "c",
                postalCode: "e",
                country: "DE"
            ),
            [
                "type": "sepa_debit", "currency": "eur", "owner[name]": "Jenny",
                "owner[address][line1]": "a", "owner[address][city]": "c",
                "owner[address][postal_code]": "e", "owner[address][country]": "DE",
                "sepa_debit[iban]": "DE89",
            ]
        ),
        Row(
            "sepa_debit without an address",
            .sepaDebit(name: "Jenny", iban: "DE89"),
            [
                "type": "sepa_debit", "currency": "eur", "owner[name]": "Jenny",
                "sepa_debit[iban]": "DE89",
            ]
        ),
        Row(
            "visa checkout",
            .visaCheckout(callID: "c1"),
            ["type": "card", "card[visa_checkout][callid]": "c1"]
        ),
        Row(
            "masterpass",
            .masterpass(cartID: "c1", transactionID: "t1"),
            [
                "type": "card", "card[masterpass][cart_id]": "c1",
                "card[masterpass][transaction_id]": "t1",
            ]
        ),
        Row(
            "multibanco",
            .multibanco(amount: 1, returnURL: back, email: "j@x.pt"),
            [
                "type": "multibanco", "amount": "1", "currency": "eur", "owner[email]": "j@x.pt",
                "redirect[return_url]": back,
            ]
        ),
        Row(
            "wechat",
            .weChatPay(amount: 1, currency: "usd", appID: "wx1", statementDescriptor: "O 1"),
            [
                "type": "wechat", "amount": "1", "currency": "usd", "wechat[appid]": "wx1",
                "wechat[statement_descriptor]": "O 1",
            ]
        ),
        Row(
            "bitcoin",
            .bitcoin(amount: 1, currency: "usd", email: "j@x.com"),
            ["type": "bitcoin", "amount": "1", "currency": "usd", "owner[email]": "j@x.com"]
        ),
    ]

    @Test("a constructor sends exactly its form fields", arguments: redirects + others)
    func constructor(row: Row) {
        #expect(Dictionary(uniqueKeysWithValues: row.params.form) == row.form)
    }

    @Test("generic fields and additional parameters are sent, and kept by copies")
    func generic() {
        var params = SourceParams(
            type: .ideal,
            amount: 5,
            currency: "eur",
            flow: .redirect,
            usage: .singleUse,
            returnURL: Self.back,
            token: "tok_1",
            metadata: ["order": "6"],
            details: ["bank": "ing"]
        )
        params.additionalAPIParameters = [
            "ideal": ["preferred": true], "original_source": "src_0", "amount": 7,
            "lists": ["a", ["b": .null]],
        ]
        let copy = params
        #expect(
            Dictionary(uniqueKeysWithValues: copy.form) == [
                "type": "ideal", "amount": "7", "currency": "eur", "flow": "redirect",
                "usage": "single_use", "redirect[return_url]": Self.back, "token": "tok_1",
                "metadata[order]": "6", "ideal[bank]": "ing", "ideal[preferred]": "true",
                "original_source": "src_0", "lists[]": "a", "lists[][b]": "",
            ]
        )
    }

    @Test("mandate, receiver, customer and original source have their parameters")
    func consent() {
        var params = SourceParams.sepaDebit(name: "Jenny Rosen", iban: "DE89370400440532013000")
        params.customer = "cus_1"
        params.originalSource = "src_0"
        params.mandate = SourceMandate(
            acceptance: .online(date: 7, ip: "192.0.2.1", userAgent: "M"),
            interval: .variable,
            notificationMethod: .manual
        )
        #expect(
            Dictionary(uniqueKeysWithValues: params.form) == [
                "type": "sepa_debit", "currency": "eur", "owner[name]": "Jenny Rosen",
                "sepa_debit[iban]": "DE89370400440532013000", "customer": "cus_1",
                "original_source": "src_0", "mandate[acceptance][status]": "accepted",
                "mandate[acceptance][type]": "online", "mandate[acceptance][date]": "7",
                "mandate[acceptance][ip]": "192.0.2.1", "mandate[acceptance][user_agent]": "M",
                "mandate[interval]": "variable", "mandate[notification_method]": "manual",
            ]
        )
        params = .achCreditTransfer(email: "a@example.com", refundAttributesMethod: .manual)
        params.mandate = SourceMandate(
            acceptance: .offline(date: 7, contactEmail: "b@example.com")
        )
        #expect(
            Dictionary(uniqueKeysWithValues: params.form) == [
                "type": "ach_credit_transfer", "currency": "usd", "owner[email]": "a@example.com",
                "receiver[refund_attributes_method]": "manual",
                "mandate[acceptance][status]": "accepted",
                "mandate[acceptance][type]": "offline", "mandate[acceptance][date]": "7",
                "mandate[acceptance][offline][contact_email]": "b@example.com",
            ]
        )
    }

    @Test("the merchant's name is added to a return URL without one")
    func merchantName() {
        let params = SourceParams.ideal(amount: 1, returnURL: Self.back + "?order=6")
        #expect(
            params.addingMerchantName("Shop & Co").returnURL
                == Self.back + "?order=6&redirect_merchant_name=Shop%20%26%20Co"
        )
        let named = SourceParams.ideal(
            amount: 1,
            returnURL: Self.back + "?redirect_merchant_name=A"
        )
        #expect(named.addingMerchantName("B") == named)
    }
}
