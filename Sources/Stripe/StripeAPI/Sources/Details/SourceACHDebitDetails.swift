/// The American bank account an ACH debit takes money from; verified with two micro-deposits.
public struct SourceACHDebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's name.
    public let bankName: String?
    /// Two letters, ISO 3166.
    public let country: String?
    /// Tells whether two sources are of the same account, without naming it.
    public let fingerprint: String?
    /// The last four digits.
    public let last4: String?
    /// The bank's routing number.
    public let routingNumber: String?
    /// `individual` or `company`.
    public let type: String?

    private enum CodingKeys: String, CodingKey {
        case country, fingerprint, last4, type
        case bankName = "bank_name"
        case routingNumber = "routing_number"
    }
}
