/// What is bought with a Source; amounts in the currency's smallest unit.
///
/// *Source*: <https://docs.stripe.com/api/sources/object>, `source_order`.
public struct SourceOrder: Codable, Hashable, Sendable, RedactedValue {
    /// The sum of the items.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// The customer's address for mail about the order.
    public let email: String?
    /// The lines.
    public let items: [Item]?
    /// Where the goods go.
    public let shipping: StripeShipping?

    /// One line of an order.
    public struct Item: Codable, Hashable, Sendable {
        /// For all pieces together.
        public let amount: Int?
        /// Three letters, lower case.
        public let currency: String?
        /// For people.
        public let description: String?
        /// The id of what is bought.
        public let parent: String?
        /// How many pieces.
        public let quantity: Int?
        /// `sku`, `tax`, `shipping` or `discount`.
        public let type: String?
    }
}

/// Where goods go.
public struct StripeShipping: Codable, Hashable, Sendable, RedactedValue {
    /// The address.
    public let address: StripeAddress?
    /// The carrier, as `DHL`.
    public let carrier: String?
    /// The receiver.
    public let name: String?
    /// The receiver's number.
    public let phone: String?
    /// The carrier's number of the parcel.
    public let trackingNumber: String?

    private enum CodingKeys: String, SnakeKey {
        case address, carrier, name, phone, trackingNumber
    }
}

/// A postal address.
public struct StripeAddress: Codable, Hashable, Sendable, RedactedValue {
    /// City, town or village.
    public let city: String?
    /// Two letters, ISO 3166.
    public let country: String?
    /// Street and number.
    public let line1: String?
    /// Anything more.
    public let line2: String?
    /// Postal code.
    public let postalCode: String?
    /// State, county or province.
    public let state: String?

    /// Describes an address.
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

    /// What is sent of it.
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
