import ArgumentParser
import Foundation
import SafeNumbers
import StripeAPI

/// The options of `pollerctl source create` and the Stripe parameters that they set.
struct SourceFields: ParsableArguments {
    @Option(help: "The amount in the smallest currency unit: 1099 is 10.99 EUR.") var amount: Int?
    @Option(help: "The currency, such as eur.") var currency: String?
    @Option(help: "The customer's name, at least 3 letters.") var name: String?
    @Option(help: "The customer's email address; for every payment method.") var email: String?
    @Option(help: "The customer's telephone number.") var phone: String?
    @Option(help: "The page the customer returns to, such as https://pay.example/r.")
    var returnURL: String?
    @Option(help: "The country of the bank or address, two letters.") var country: String?
    @Option(help: "The text on the customer's statement.") var statementDescriptor: String?
    @Option(help: "The customer's bank, such as ing.") var bank: String?
    @Option(help: "The account to debit.") var iban: String?
    @Option(help: "Street and number.") var line1: String?
    @Option(help: "Town.") var city: String?
    @Option(help: "Postal code.") var postalCode: String?
    @Option(help: "A test card's number; for a real card use --token.") var number: String?
    @Option(help: "The card's check digits.") var cvc: String?
    @Option(help: "The card's month of expiry, 1 to 12.") var expMonth: Int?
    @Option(help: "The card's year of expiry.") var expYear: Int?
    @Option(help: "A Stripe.js token, tok_…, instead of card details.") var token: String?
    @Option(help: "The card source to authenticate, src_….") var card: String?
    @Option(help: "The WeChat id of the app.") var appID: String?
    @Option(help: "The bundle id of the app that opens Alipay.") var appBundleID: String?
    @Option(help: "The version key of the app that opens Alipay.") var appVersionKey: String?
    @Option(help: "The wallet's call id.") var callID: String?
    @Option(help: "The wallet's cart.") var cartID: String?
    @Option(help: "The wallet's transaction.") var transactionID: String?
    @Option(help: "An item, AMOUNT:DESCRIPTION; may be repeated.") var item: [String] = []
    @Option(help: "The country of the purchase, two letters.") var purchaseCountry: String?
    @Option(help: "The customer's first name.") var firstName: String?
    @Option(help: "The customer's last name.") var lastName: String?
    @Option(help: "Attach a reusable source to this customer, cus_….") var customer: String?
    @Option(help: "The platform's original source, src_… (Connect).")
    var originalSource: String?
    @Option(help: "redirect, receiver, code_verification or none (default: by type).")
    var flow: String?
    @Option(help: "reusable or single_use (default: by type).") var usage: String?
    @Option(help: "How Stripe requests the account for refunds: email, manual or none.")
    var refundAttributes: String?
    @Option(help: "The notice before each debit: email, stripe_email, manual or none.")
    var mandateNotification: String?
    @Option(help: "The customer accepted the mandate online, now, from this IP address.")
    var mandateIP: String?
    @Option(help: "The customer's browser; requires --mandate-ip.")
    var mandateUserAgent: String?
    @Option(help: "The customer accepted on paper, now; email address to request the copy.")
    var mandateContact: String?

    func validate() throws {
        let words = [
            ("flow", flow, SourceFlow.known), ("usage", usage, SourceUsage.known),
            ("refund-attributes", refundAttributes, RefundAttributesMethod.known),
            ("mandate-notification", mandateNotification, MandateNotificationMethod.known),
        ]
        for (name, word, known) in words {
            guard let word, !known.contains(word) else { continue }
            throw ValidationError(
                "--\(name) must be one of \(known.sorted().joined(separator: ", "))"
            )
        }
        guard mandateIP == nil || mandateContact == nil else {
            throw ValidationError(
                "--mandate-ip (online) and --mandate-contact (paper) cannot be used together; remove one"
            )
        }
        guard mandateUserAgent == nil || mandateIP != nil else {
            throw ValidationError("--mandate-user-agent requires --mandate-ip")
        }
        if let amount, amount <= 0 {
            throw ValidationError("--amount must be positive, in the currency's smallest unit")
        }
    }

    /// The given options that a payment method requires or accepts.
    ///
    /// - `parameter`: Stripe's parameter; `nil` for a field of the type, such as `ideal[bank]`.
    var given: [(option: String, parameter: String?, value: String)] {
        let all: [(String, String?, String?)] = [
            ("amount", "amount", amount.map { "\($0)" }), ("currency", "currency", currency),
            ("name", "owner[name]", name), ("email", "owner[email]", email),
            ("phone", "owner[phone]", phone), ("return-url", "redirect[return_url]", returnURL),
            ("country", "owner[address][country]", country),
            ("statement-descriptor", "statement_descriptor", statementDescriptor),
            ("bank", nil, bank), ("iban", nil, iban), ("line1", "owner[address][line1]", line1),
            ("city", "owner[address][city]", city),
            ("postal-code", "owner[address][postal_code]", postalCode), ("number", nil, number),
            ("cvc", nil, cvc), ("exp-month", nil, expMonth.map { "\($0)" }),
            ("exp-year", nil, expYear.map { "\($0)" }), ("token", "token", token),
            ("card", nil, card), ("app-id", "wechat[appid]", appID),
            ("app-bundle-id", nil, appBundleID), ("app-version-key", nil, appVersionKey),
            ("call-id", "card[visa_checkout][callid]", callID),
            ("cart-id", "card[masterpass][cart_id]", cartID),
            ("transaction-id", "card[masterpass][transaction_id]", transactionID),
            ("item", nil, item.isEmpty ? nil : ""), ("purchase-country", nil, purchaseCountry),
            ("first-name", nil, firstName), ("last-name", nil, lastName),
        ]
        return all.compactMap { option, parameter, value in value.map { (option, parameter, $0) } }
    }

    /// The parameters that a source of any type may have.
    var common: [(String, String)] {
        let now = "\(Int(saturating: Date().timeIntervalSince1970))"
        let place = mandateIP == nil ? mandateContact.map { _ in "offline" } : "online"
        let all: [(String, String?)] = [
            ("customer", customer), ("original_source", originalSource), ("flow", flow),
            ("usage", usage), ("receiver[refund_attributes_method]", refundAttributes),
            ("mandate[notification_method]", mandateNotification),
            ("mandate[acceptance][status]", place.map { _ in "accepted" }),
            ("mandate[acceptance][type]", place),
            ("mandate[acceptance][date]", place.map { _ in now }),
            ("mandate[acceptance][ip]", mandateIP),
            ("mandate[acceptance][user_agent]", mandateUserAgent),
            ("mandate[acceptance][offline][contact_email]", mandateContact),
        ]
        return all.compactMap { parameter, value in value.map { (parameter, $0) } }
    }

    /// The items of the order as parameters, with their sum; throws for an item without an amount.
    func order(in currency: String) throws -> (form: [(String, String)], sum: Int) {
        var (form, sum) = ([(String, String)](), 0)
        for text in item {
            let parts = text.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let first = parts.first, let amount = Int(safe: first),
                let description = parts.last
            else { throw ValidationError("--item must be AMOUNT:DESCRIPTION, not \(text)") }
            sum = sum.addingSaturating(amount)
            form += [
                ("amount", "\(amount)"), ("currency", currency),
                ("description", String(description)), ("quantity", "1"), ("type", "sku"),
            ].map { ("source_order[items][][\($0)]", $1) }
        }
        return (form, sum)
    }
}
