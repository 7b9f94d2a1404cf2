import ArgumentParser
import SafeNumbers
import StripeAPI

/// A payment method by the name users write, with the options it needs and takes.
enum SourceMethod: String, CaseIterable {
    case bancontact, card, giropay, ideal
    case sepaDebit = "sepa_debit"
    case sofort, klarna
    case threeDSecure = "three_d_secure"
    case alipay
    case alipayReusable = "alipay_reusable"
    case p24
    case visaCheckout = "visa_checkout"
    case masterpass, eps, multibanco, wechat, bitcoin

    /// The options without which Stripe refuses it.
    var needs: [String] {
        switch self {
        case .bancontact, .giropay, .eps: ["amount", "name", "return-url"]
        case .ideal: ["amount", "return-url"]
        case .card: []
        case .sepaDebit: ["name", "iban"]
        case .sofort: ["amount", "return-url", "country"]
        case .klarna: ["currency", "return-url", "purchase-country", "item"]
        case .threeDSecure: ["amount", "currency", "return-url", "card"]
        case .alipay: ["amount", "currency", "return-url"]
        case .alipayReusable: ["currency", "return-url"]
        case .p24: ["amount", "currency", "email", "return-url"]
        case .visaCheckout: ["call-id"]
        case .masterpass: ["cart-id", "transaction-id"]
        case .multibanco: ["amount", "email", "return-url"]
        case .wechat: ["amount", "currency", "app-id"]
        case .bitcoin: ["amount", "currency", "email"]
        }
    }

    /// The options it takes beside those.
    var takes: [String] {
        switch self {
        case .bancontact, .giropay, .eps, .sofort, .wechat: ["statement-descriptor"]
        case .ideal: ["name", "statement-descriptor", "bank"]
        case .card:
            [
                "number", "cvc", "exp-month", "exp-year", "token", "name", "line1", "city",
                "postal-code", "country",
            ]
        case .sepaDebit: ["line1", "city", "postal-code", "country"]
        case .klarna:
            [
                "first-name", "last-name", "email", "phone", "line1", "city", "postal-code",
                "country",
            ]
        case .alipay: ["app-bundle-id", "app-version-key"]
        case .p24: ["name"]
        case .threeDSecure, .alipayReusable, .visaCheckout, .masterpass, .multibanco, .bitcoin: []
        }
    }
}

extension SourceMethod {
    /// What to send to Stripe for it.
    ///
    /// Errors: a usage error that names every option missing or out of place.
    func params(_ fields: SourceFields) throws -> SourceParams {
        try check(fields)
        var params = try ownParams(fields)
        guard let email = fields.email, params.owner?.email == nil, self != .klarna else {
            return params
        }
        let owner = params.owner
        params.owner = SourceOwner(
            name: owner?.name,
            email: email,
            phone: owner?.phone,
            address: owner?.address
        )
        return params
    }

    /// The parameters that no other method has.
    private func ownParams(_ fields: SourceFields) throws -> SourceParams {
        let amount = fields.amount ?? 0
        let (currency, returnURL) = (fields.currency ?? "", fields.returnURL ?? "")
        let (name, email) = (fields.name ?? "", fields.email ?? "")
        let text = fields.statementDescriptor
        switch self {
        case .bancontact:
            return .bancontact(
                amount: amount,
                name: name,
                returnURL: returnURL,
                statementDescriptor: text
            )
        case .giropay:
            return .giropay(
                amount: amount,
                name: name,
                returnURL: returnURL,
                statementDescriptor: text
            )
        case .eps:
            return .eps(
                amount: amount,
                name: name,
                returnURL: returnURL,
                statementDescriptor: text
            )
        case .ideal:
            return .ideal(
                amount: amount,
                name: fields.name,
                returnURL: returnURL,
                statementDescriptor: text,
                bank: fields.bank
            )
        case .sofort:
            return .sofort(
                amount: amount,
                returnURL: returnURL,
                country: fields.country ?? "",
                statementDescriptor: text
            )
        case .card: return card(fields)
        case .sepaDebit:
            return .sepaDebit(
                name: name,
                iban: fields.iban ?? "",
                addressLine1: fields.line1,
                city: fields.city,
                postalCode: fields.postalCode,
                country: fields.country
            )
        case .klarna: return try klarna(fields)
        case .threeDSecure:
            return .threeDSecure(
                amount: amount,
                currency: currency,
                returnURL: returnURL,
                card: fields.card ?? ""
            )
        case .alipay:
            return .alipay(
                amount: amount,
                currency: currency,
                returnURL: returnURL,
                appBundleID: fields.appBundleID,
                appVersionKey: fields.appVersionKey
            )
        case .alipayReusable: return .alipayReusable(currency: currency, returnURL: returnURL)
        case .p24:
            return .p24(
                amount: amount,
                currency: currency,
                email: email,
                name: fields.name,
                returnURL: returnURL
            )
        case .visaCheckout: return .visaCheckout(callID: fields.callID ?? "")
        case .masterpass:
            return .masterpass(
                cartID: fields.cartID ?? "",
                transactionID: fields.transactionID ?? ""
            )
        case .multibanco:
            return .multibanco(amount: amount, returnURL: returnURL, email: email)
        case .wechat:
            return .weChatPay(
                amount: amount,
                currency: currency,
                appID: fields.appID ?? "",
                statementDescriptor: text
            )
        case .bitcoin: return .bitcoin(amount: amount, currency: currency, email: email)
        }
    }

    private func check(_ fields: SourceFields) throws {
        let given = fields.given
        let missing = needs.filter { !given.contains($0) }
        guard missing.isEmpty else {
            throw ValidationError("\(rawValue) needs \(Self.list(missing)) too; \(usage)")
        }
        let foreign = given.subtracting(needs).subtracting(options).sorted()
        guard foreign.isEmpty else {
            throw ValidationError("\(rawValue) takes no \(Self.list(foreign)); \(usage)")
        }
        if self == .card, fields.token == nil, fields.number == nil {
            throw ValidationError("card needs --token, or --number with --exp-month, --exp-year")
        }
    }

    /// The options of the method, and the customer's email address, which every source may have.
    private var options: [String] {
        needs.contains("email") || takes.contains("email") ? takes : takes + ["email"]
    }

    /// What it needs and takes, in one line.
    private var usage: String {
        let needed = needs.isEmpty ? "it needs nothing" : "it needs \(Self.list(needs))"
        return options.isEmpty ? needed : "\(needed) and takes \(Self.list(options))"
    }

    private static func list(_ options: [String]) -> String {
        options.map { "--\($0)" }.joined(separator: ", ")
    }

    private func card(_ fields: SourceFields) -> SourceParams {
        var params = SourceParams.card(
            CardParams(
                number: fields.number,
                cvc: fields.cvc,
                expMonth: fields.expMonth,
                expYear: fields.expYear,
                name: fields.name,
                address: fields.address
            )
        )
        params.token = fields.token
        return params
    }

    private func klarna(_ fields: SourceFields) throws -> SourceParams {
        let items = try fields.item.map { text throws in
            let parts = text.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let amount = Int(safe: parts[0]) else {
                throw ValidationError("--item must be AMOUNT:DESCRIPTION, not \(text)")
            }
            return KlarnaParams.Item(.sku, String(parts[1]), totalAmount: amount)
        }
        let isNamed = fields.firstName != nil || fields.lastName != nil || fields.email != nil
        return .klarna(
            returnURL: fields.returnURL ?? "",
            KlarnaParams(
                currency: fields.currency ?? "",
                purchaseCountry: fields.purchaseCountry ?? "",
                items: items,
                billing: isNamed
                    ? KlarnaParams.Billing(
                        firstName: fields.firstName,
                        lastName: fields.lastName,
                        address: fields.address,
                        email: fields.email,
                        phone: fields.phone
                    )
                    : nil
            )
        )
    }
}

extension SourceFields {
    /// The address, as far as it was given.
    var address: StripeAddress {
        StripeAddress(line1: line1, city: city, postalCode: postalCode, country: country)
    }

    /// What to send for a method that has no helper: what all sources have in common.
    func params(type: String) throws -> SourceParams {
        let common: Set<String> = [
            "amount", "currency", "name", "email", "phone", "return-url", "token",
            "statement-descriptor", "line1", "city", "postal-code", "country",
        ]
        let foreign = given.subtracting(common).sorted()
        guard foreign.isEmpty else {
            throw ValidationError(
                "\(type) has no --\(foreign[0]) here; send fields of its own with "
                    + "--param \(type)[NAME]=VALUE"
            )
        }
        let hasOwner = !given.isDisjoint(with: [
            "name", "email", "phone", "line1", "city", "postal-code", "country",
        ])
        return SourceParams(
            type: SourceType(rawValue: type),
            amount: amount,
            currency: currency,
            owner: hasOwner
                ? SourceOwner(name: name, email: email, phone: phone, address: address) : nil,
            returnURL: returnURL,
            token: token,
            statementDescriptor: statementDescriptor
        )
    }
}
