import SafeNumbers

/// What Klarna needs to know beyond a return URL.
///
/// *Source*: `klarnaParams` of stripe-ios. The billing data is sent as a whole or not at all; see
/// ``Billing/isComplete(forCountry:)``.
public struct KlarnaParams: Hashable, Sendable, RedactedValue {
    /// Three letters, lower case.
    public var currency: String
    /// Two letters, ISO 3166: where the customer buys.
    public var purchaseCountry: String
    /// What is bought; the Source's amount is the sum of the totals.
    public var items: [Item]
    /// Restricts what Klarna offers; everything when empty.
    public var paymentMethods: PaymentMethods
    /// Who pays, if known.
    public var billing: Billing?
    /// The customer's date of birth, if known.
    public var birth: BirthDate?

    /// Describes a purchase.
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

    /// Ways to pay that Klarna may offer.
    public struct PaymentMethods: OptionSet, Hashable, Sendable {
        /// The set's bits.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Four payments without interest; US.
        public static let payIn4 = PaymentMethods(rawValue: 1)
        /// Instalments; US.
        public static let installments = PaymentMethods(rawValue: 2)

        /// The words the API takes.
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

        /// Describes a date.
        public init(day: Int, month: Int, year: Int) {
            self.day = day
            self.month = month
            self.year = year
        }
    }

    /// Who pays.
    public struct Billing: Hashable, Sendable, RedactedValue {
        /// The customer's first name.
        public var firstName: String?
        /// The customer's last name.
        public var lastName: String?
        /// The customer's address.
        public var address: StripeAddress
        /// The customer's address for mail.
        public var email: String?
        /// The customer's number.
        public var phone: String?

        /// Describes who pays.
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

        /// Whether Klarna could use it: names, street, postal code, city and email, and in this country.
        public func isComplete(forCountry country: String) -> Bool {
            let needed = [
                firstName, lastName, address.line1, address.postalCode, address.city, email,
            ]
            return address.country == country && needed.allSatisfy { $0 != nil }
        }
    }
}

extension KlarnaParams {
    /// One line of what is bought.
    public struct Item: Hashable, Sendable {
        /// What a line stands for.
        public enum Kind: String, Sendable {
            /// Goods.
            case sku
            /// Tax.
            case tax
            /// Shipping.
            case shipping
        }

        /// What it stands for.
        public var kind: Kind
        /// For people.
        public var description: String
        /// How many pieces.
        public var quantity: Int
        /// For all pieces together, in the currency's smallest unit.
        public var totalAmount: Int

        /// Describes a line.
        public init(_ kind: Kind, _ description: String, quantity: Int = 1, totalAmount: Int) {
            self.kind = kind
            self.description = description
            self.quantity = quantity
            self.totalAmount = totalAmount
        }
    }
}

extension SourceParams {
    /// Klarna: pay later, now or in instalments.
    ///
    /// The Source's amount is the sum of the items' totals. Billing data is sent only when it is complete and of
    /// the country of purchase, since Klarna refuses it otherwise.
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
