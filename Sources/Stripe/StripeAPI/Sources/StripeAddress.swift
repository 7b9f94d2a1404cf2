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

    private enum CodingKeys: String, CodingKey {
        case city, country, line1, line2, state
        case postalCode = "postal_code"
    }
}
