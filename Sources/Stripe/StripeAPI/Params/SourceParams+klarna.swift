extension SourceParams {
    /// Klarna: pay later, now or in instalments.
    ///
    /// The Source's amount is the sum of the items' totals. Billing data is sent only when it is complete and of
    /// the country of purchase, since Klarna refuses it otherwise.
    /// *Source*: `klarnaParams` of stripe-ios.
    public static func klarna(returnURL: String, _ klarna: KlarnaParams) -> SourceParams {
        var details = fields([
            "product": "payment", "purchase_country": .string(klarna.purchaseCountry),
            "custom_payment_methods": .optional(klarna.paymentMethods.words),
        ])
        if let birth = klarna.birth {
            details["owner_dob_day"] = .string(twoDigits(birth.day))
            details["owner_dob_month"] = .string(twoDigits(birth.month))
            details["owner_dob_year"] = .string(String(birth.year))
        }
        var params = SourceParams(
            type: .klarna,
            amount: klarna.items.reduce(0) { $0 + $1.totalAmount },
            currency: klarna.currency,
            flow: .redirect,
            returnURL: returnURL
        )
        if let billing = klarna.billing, billing.isComplete(forCountry: klarna.purchaseCountry) {
            details["first_name"] = .optional(billing.firstName)
            details["last_name"] = .optional(billing.lastName)
            params.owner = SourceOwner(
                email: billing.email,
                phone: billing.phone,
                address: billing.address
            )
        }
        params.details = details
        params.additionalAPIParameters = [
            "source_order": ["items": .array(klarna.items.map { $0.parameters(klarna.currency) })]
        ]
        return params
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : String(number)
    }
}

extension KlarnaParams.Item {
    fileprivate func parameters(_ currency: String) -> JSONValue {
        [
            "type": .string(kind.rawValue), "description": .string(description),
            "quantity": .integer(Int64(quantity)), "amount": .integer(Int64(totalAmount)),
            "currency": .string(currency),
        ]
    }
}
