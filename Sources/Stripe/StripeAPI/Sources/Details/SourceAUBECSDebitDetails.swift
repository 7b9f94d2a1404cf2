/// The Australian bank account a BECS debit takes money from.
public struct SourceAUBECSDebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank and branch.
    public let bsbNumber: String?
    /// Tells whether two sources are of the same account, without naming it.
    public let fingerprint: String?
    /// The last four digits.
    public let last4: String?

    private enum CodingKeys: String, CodingKey {
        case fingerprint, last4
        case bsbNumber = "bsb_number"
    }
}
