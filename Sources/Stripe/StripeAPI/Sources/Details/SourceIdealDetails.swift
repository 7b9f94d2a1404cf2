/// The Dutch account that paid through iDEAL; empty until it did.
public struct SourceIdealDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank, as `ing`; the customer chooses when nil.
    public let bank: String?
    /// The bank's BIC.
    public let bic: String?
    /// The last four characters of the IBAN.
    public let ibanLast4: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, CodingKey {
        case bank, bic
        case ibanLast4 = "iban_last4"
        case statementDescriptor = "statement_descriptor"
    }
}
