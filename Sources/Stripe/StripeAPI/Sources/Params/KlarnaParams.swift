import SafeNumbers

/// The Klarna-specific parameters of a new Source.
///
/// *Source*: `klarnaParams` of stripe-ios. Billing data is sent completely or not at all; see
/// ``Billing/isComplete(forCountry:)``.
public struct KlarnaParams: Hashable, Sendable, RedactedValue {
    /// The ISO 4217 currency code: three letters, lower case.
    public var currency: String
    /// The country of purchase: an ISO 3166 code, two letters.
    public var purchaseCountry: String
    /// The purchased items; the Source's amount is the sum of their totals.
    public var items: [Item]
    /// The payment options Klarna may offer; empty for all.
    public var paymentMethods: PaymentMethods
    /// The billing data of the customer, if known.
    public var billing: Billing?
    /// The customer's date of birth, if known.
    public var birth: BirthDate?

    /// Creates the parameters of a purchase.
    public init(
        currency: String,
        purchaseCountry: String,
        items: [Item],
        paymentMethods: PaymentMethods = [],
        billing: Billing? = nil,
        birth: BirthDate? = nil
    ) {
        self.currency = currency
        self.purchaseCountry = purchaseCountry
        self.items = items
        self.paymentMethods = paymentMethods
        self.billing = billing
        self.birth = birth
    }

    /// The payment options Klarna may offer.
    public struct PaymentMethods: OptionSet, Hashable, Sendable {
        /// The set's bits.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Four payments without interest; US only.
        public static let payIn4 = PaymentMethods(rawValue: 1)
        /// Instalments; US only.
        public static let installments = PaymentMethods(rawValue: 2)

        /// The options as sent to the API; `nil` for all.
        var parameter: String? {
            let names = [
                contains(.payIn4) ? "payin4" : nil, contains(.installments) ? "installments" : nil,
            ]
            return isEmpty ? nil : names.compactMap { $0 }.joined(separator: ",")
        }
    }

    /// A date of birth.
    public struct BirthDate: Hashable, Sendable, RedactedValue {
        /// 1 to 31.
        public var day: Int
        /// 1 to 12.
        public var month: Int
        /// Four digits.
        public var year: Int

        /// Creates a date.
        public init(day: Int, month: Int, year: Int) {
            self.day = day
            self.month = month
            self.year = year
        }
    }

    /// The billing data of a customer.
    public struct Billing: Hashable, Sendable, RedactedValue {
        /// The customer's first name.
        public var firstName: String?
        /// The customer's last name.
        public var lastName: String?
        /// The customer's address.
        public var address: StripeAddress
        /// The customer's email address.
        public var email: String?
        /// The customer's phone number.
        public var phone: String?

        /// Creates billing data.
        public init(
            firstName: String?,
            lastName: String?,
            address: StripeAddress,
            email: String?,
            phone: String? = nil
        ) {
            self.firstName = firstName
            self.lastName = lastName
            self.address = address
            self.email = email
            self.phone = phone
        }

        /// Returns whether the data has both names, street, postal code, city and email, and is for this country.
        public func isComplete(forCountry country: String) -> Bool {
            let needed = [
                firstName, lastName, address.line1, address.postalCode, address.city, email,
            ]
            return address.country == country && needed.allSatisfy { $0 != nil }
        }
    }
}

extension KlarnaParams {
    /// An item of a purchase.
    public struct Item: Hashable, Sendable {
        /// The type of an item.
        public enum Kind: String, Sendable {
            /// Goods.
            case sku
            /// Tax.
            case tax
            /// Shipping.
            case shipping
        }

        /// The type of the item.
        public var kind: Kind
        /// The description for display.
        public var description: String
        /// The quantity.
        public var quantity: Int
        /// The total for the whole quantity, in the currency's smallest unit.
        public var totalAmount: Int

        /// Creates an item.
        public init(_ kind: Kind, _ description: String, quantity: Int = 1, totalAmount: Int) {
            self.kind = kind
            self.description = description
            self.quantity = quantity
            self.totalAmount = totalAmount
        }
    }
}

extension SourceParams {
    /// Creates the parameters of a Klarna Source: pay later, now or in instalments.
    ///
    /// The Source's amount is the sum of the item totals. Billing data is sent only when it is complete and for the
    /// country of purchase, because Klarna rejects it otherwise.
    /// *Source*: `klarnaParams` of stripe-ios.
    public static func klarna(returnURL: String, _ klarna: KlarnaParams) -> SourceParams {
        var details = fields([
            "product": "payment", "purchase_country": .string(klarna.purchaseCountry),
            "custom_payment_methods": .optional(klarna.paymentMethods.parameter),
        ])
        if let birth = klarna.birth {
            details["owner_dob_day"] = .string(twoDigits(birth.day))
            details["owner_dob_month"] = .string(twoDigits(birth.month))
            details["owner_dob_year"] = .string(String(birth.year))
        }
        var params = SourceParams(
            type: .klarna,
            amount: klarna.items.reduce(0) { $0.addingSaturating($1.totalAmount) },
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
            "quantity": .integer(Int64(clamping: quantity)),
            "amount": .integer(Int64(clamping: totalAmount)),
            "currency": .string(currency),
        ]
    }
}
