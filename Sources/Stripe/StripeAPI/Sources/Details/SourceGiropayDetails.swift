/// The German account that paid through Giropay; empty until it did.
public struct SourceGiropayDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The bank's BIC.
    public let bic: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, CodingKey {
        case bic
        case bankCode = "bank_code"
        case bankName = "bank_name"
        case statementDescriptor = "statement_descriptor"
    }
}
