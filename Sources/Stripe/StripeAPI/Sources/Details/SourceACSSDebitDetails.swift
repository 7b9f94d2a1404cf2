/// The Canadian bank account a pre-authorised debit takes money from.
public struct SourceACSSDebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The branch's city.
    public let bankAddressCity: String?
    /// The branch's street and number.
    public let bankAddressLine1: String?
    /// More of the branch's address.
    public let bankAddressLine2: String?
    /// The branch's postal code.
    public let bankAddressPostalCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The kind of account.
    public let category: String?
    /// Two letters, ISO 3166.
    public let country: String?
    /// Tells whether two sources are of the same account, without naming it.
    public let fingerprint: String?
    /// The last four digits.
    public let last4: String?
    /// The bank's routing number.
    public let routingNumber: String?

    private enum CodingKeys: String, CodingKey {
        case category, country, fingerprint, last4
        case bankAddressCity = "bank_address_city"
        case bankAddressLine1 = "bank_address_line_1"
        case bankAddressLine2 = "bank_address_line_2"
        case bankAddressPostalCode = "bank_address_postal_code"
        case bankName = "bank_name"
        case routingNumber = "routing_number"
    }
}
