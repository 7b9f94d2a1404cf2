/// A postal address.
public struct StripeAddress: Sendable, Hashable, Codable {
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

    private enum CodingKeys: String, CodingKey {
        case city, country, line1, line2, state
        case postalCode = "postal_code"
    }
}
