import StripeAPI
import Testing

@Suite struct KlarnaParamsTests {
    private static let address = StripeAddress(
        line1: "Mariahilfer Str. 1",
        city: "Wien",
        postalCode: "1060",
        country: "AT"
    )

    private func klarna(_ billing: KlarnaParams.Billing?) -> KlarnaParams {
        KlarnaParams(
            currency: "eur",
            purchaseCountry: "AT",
            items: [
                KlarnaParams.Item(.sku, "Chair", quantity: 2, totalAmount: 9000),
                KlarnaParams.Item(.tax, "VAT", totalAmount: 1800),
                KlarnaParams.Item(.shipping, "Parcel", totalAmount: 500),
            ],
            paymentMethods: [.payIn4, .installments],
            billing: billing,
            birth: KlarnaParams.BirthDate(day: 3, month: 11, year: 1990)
        )
    }

    @Test("items add up to the amount and are sent in order")
    func items() throws {
        let form = SourceParams.klarna(returnURL: "app://back", klarna(nil)).form
        let items = form.filter { $0.0.hasPrefix("source_order[items]") }
        #expect(items.filter { $0.0.hasSuffix("[type]") }.map(\.1) == ["sku", "tax", "shipping"])
        #expect(items.filter { $0.0.hasSuffix("[amount]") }.map(\.1) == ["9000", "1800", "500"])
        #expect(items.filter { $0.0.hasSuffix("[quantity]") }.map(\.1) == ["2", "1", "1"])
        try #require(items.count == 15)
        // Every item starts with the same field, so that a server can detect the start of the next item.
        #expect(stride(from: 0, to: 15, by: 5).map { items[$0].0 }.allSatisfy { $0 == items[0].0 })
        #expect(
            Dictionary(uniqueKeysWithValues: form.filter { !$0.0.hasPrefix("source_order") }) == [
                "type": "klarna", "amount": "11300", "currency": "eur", "flow": "redirect",
                "redirect[return_url]": "app://back", "klarna[product]": "payment",
                "klarna[purchase_country]": "AT",
                "klarna[custom_payment_methods]": "payin4,installments",
                "klarna[owner_dob_day]": "03", "klarna[owner_dob_month]": "11",
                "klarna[owner_dob_year]": "1990",
            ]
        )
    }

    @Test("complete billing data for the country of purchase is sent")
    func billing() {
        let billing = KlarnaParams.Billing(
            firstName: "Arthur",
            lastName: "Dent",
            address: Self.address,
            email: "a@dent.at",
            phone: "02012267709"
        )
        let form = Dictionary(
            SourceParams.klarna(returnURL: "app://back", klarna(billing)).form
        ) { first, _ in first }
        #expect(form["klarna[first_name]"] == "Arthur")
        #expect(form["klarna[last_name]"] == "Dent")
        #expect(form["owner[email]"] == "a@dent.at")
        #expect(form["owner[phone]"] == "02012267709")
        #expect(form["owner[address][line1]"] == "Mariahilfer Str. 1")
        #expect(form["owner[address][country]"] == "AT")
    }

    @Test("incomplete billing data or data for another country is not sent")
    func incompleteBilling() {
        let complete = KlarnaParams.Billing(
            firstName: "Arthur",
            lastName: "Dent",
            address: Self.address,
            email: "a@dent.at"
        )
        var nameless = complete
        nameless.lastName = nil
        var mailless = complete
        mailless.email = nil
        var foreign = complete
        foreign.address = StripeAddress(line1: "a", city: "b", postalCode: "c", country: "DE")
        var streetless = complete
        streetless.address = StripeAddress(city: "b", postalCode: "c", country: "AT")
        for billing in [nameless, mailless, foreign, streetless] {
            let names = SourceParams.klarna(returnURL: "app://back", klarna(billing)).form.map(\.0)
            #expect(!names.contains { $0.hasPrefix("owner[") || $0 == "klarna[first_name]" })
        }
    }
}
