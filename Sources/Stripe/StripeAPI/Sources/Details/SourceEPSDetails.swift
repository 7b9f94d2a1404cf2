/// An Austrian EPS payment.
public struct SourceEPSDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's reference.
    public let reference: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, CodingKey {
        case reference
        case statementDescriptor = "statement_descriptor"
    }
}
