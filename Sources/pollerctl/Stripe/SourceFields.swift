import ArgumentParser

/// What a source may be made of: each payment method takes some of it, see ``SourceMethod``.
struct SourceFields: ParsableArguments {
    @Option(help: "In the currency's smallest unit: 1099 is 10.99 EUR.")
    var amount: Int?
    @Option(help: "Three letters, such as eur.")
    var currency: String?
    @Option(help: "The customer's name, at least 3 letters.")
    var name: String?
    @Option(help: "The customer's email address; for every payment method.")
    var email: String?
    @Option(help: "The customer's telephone number.")
    var phone: String?
    @Option(
        name: .customLong("return-url"),
        help: "Where the customer comes back to, such as https://pay.example/r."
    )
    var returnURL: String?
    @Option(help: "Two letters, the country of the bank or of the address.")
    var country: String?
    @Option(help: "The text on the customer's statement.")
    var statementDescriptor: String?
    @Option(help: "The customer's bank, such as ing.")
    var bank: String?
    @Option(help: "The account to debit.")
    var iban: String?
    @Option(help: "Street and number.")
    var line1: String?
    @Option(help: "Town.")
    var city: String?
    @Option(help: "Postal code.")
    var postalCode: String?
    @Option(help: "A test card's number; for a real card use --token.")
    var number: String?
    @Option(help: "The card's check digits.")
    var cvc: String?
    @Option(help: "The card's month of expiry, 1 to 12.")
    var expMonth: Int?
    @Option(help: "The card's year of expiry.")
    var expYear: Int?
    @Option(help: "A token of Stripe.js, tok_…, in place of the card itself.")
    var token: String?
    @Option(help: "The card source to authenticate, src_….")
    var card: String?
    @Option(name: .customLong("app-id"), help: "The WeChat id of the app.")
    var appID: String?
    @Option(name: .customLong("app-bundle-id"), help: "The bundle id of the app that opens Alipay.")
    var appBundleID: String?
    @Option(help: "The version key of the app that opens Alipay.")
    var appVersionKey: String?
    @Option(name: .customLong("call-id"), help: "The wallet's call id.")
    var callID: String?
    @Option(name: .customLong("cart-id"), help: "The wallet's cart.")
    var cartID: String?
    @Option(name: .customLong("transaction-id"), help: "The wallet's transaction.")
    var transactionID: String?
    @Option(help: "What is bought, AMOUNT:DESCRIPTION; may be repeated.")
    var item: [String] = []
    @Option(help: "Two letters, where the customer buys.")
    var purchaseCountry: String?
    @Option(help: "The customer's first name.")
    var firstName: String?
    @Option(help: "The customer's last name.")
    var lastName: String?

    /// The options that were given, by the names users write.
    var given: Set<String> {
        let texts: [(String, Any?)] = [
            ("amount", amount), ("currency", currency), ("name", name), ("email", email),
            ("phone", phone), ("return-url", returnURL), ("country", country),
            ("statement-descriptor", statementDescriptor), ("bank", bank), ("iban", iban),
            ("line1", line1), ("city", city), ("postal-code", postalCode), ("number", number),
            ("cvc", cvc), ("exp-month", expMonth), ("exp-year", expYear), ("token", token),
            ("card", card), ("app-id", appID), ("app-bundle-id", appBundleID),
            ("app-version-key", appVersionKey), ("call-id", callID), ("cart-id", cartID),
            ("transaction-id", transactionID), ("item", item.isEmpty ? nil : item),
            ("purchase-country", purchaseCountry), ("first-name", firstName),
            ("last-name", lastName),
        ]
        return Set(texts.compactMap { $0.1 == nil ? nil : $0.0 })
    }
}
