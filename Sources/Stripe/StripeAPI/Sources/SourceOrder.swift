/// The purchased items of a Source; amounts in the currency's smallest unit.
///
/// *Source*: <https://docs.stripe.com/api/sources/object>, `source_order`.
public struct SourceOrder: Codable, Hashable, Sendable, RedactedValue {
    /// The sum of the items.
    public let amount: Int?
    /// The ISO 4217 currency code: three letters, lower case.
    public let currency: String?
    /// The customer's email address for the order.
    public let email: String?
    /// The items.
    public let items: [Item]?
    /// The shipping details.
    public let shipping: StripeShipping?

    /// An item of an order.
    public struct Item: Codable, Hashable, Sendable {
        /// The total for the whole quantity.
        public let amount: Int?
        /// The ISO 4217 currency code: three letters, lower case.
        public let currency: String?
        /// The description for display.
        public let description: String?
        /// The ID of the purchased product.
        public let parent: String?
        /// The quantity.
        public let quantity: Int?
        /// `sku`, `tax`, `shipping` or `discount`.
        public let type: String?
    }
}

/// Shipping details.
public struct StripeShipping: Codable, Hashable, Sendable, RedactedValue {
    /// The address.
    public let address: StripeAddress?
    /// The carrier, for example `DHL`.
    public let carrier: String?
    /// The recipient's name.
    public let name: String?
    /// The recipient's phone number.
    public let phone: String?
    /// The tracking number.
    public let trackingNumber: String?

    private enum CodingKeys: String, SnakeKey {
        case address, carrier, name, phone, trackingNumber
    }
}

/// A postal address.
public struct StripeAddress: Codable, Hashable, Sendable, RedactedValue {
    /// The city, town or village.
    public let city: String?
    /// The ISO 3166 country code: two letters.
    public let country: String?
    /// The street and number.
    public let line1: String?
    /// The second address line.
    public let line2: String?
    /// The postal code.
    public let postalCode: String?
    /// The state, county or province.
    public let state: String?

    /// Creates an address.
    public init(
        line1: String? = nil,
        line2: String? = nil,
        city: String? = nil,
        state: String? = nil,
        postalCode: String? = nil,
        country: String? = nil
    ) {
        self.city = city
        self.country = country
        self.line1 = line1
        self.line2 = line2
        self.postalCode = postalCode
        self.state = state
    }

    /// The request parameters.
    var parameters: JSONValue {
        .fields([
            "line1": .optional(line1), "line2": .optional(line2), "city": .optional(city),
            "state": .optional(state), "postal_code": .optional(postalCode),
            "country": .optional(country),
        ])
    }

    private enum CodingKeys: String, SnakeKey {
        case city, country, line1, line2, state, postalCode
    }
}
