/// The account a SEPA direct debit takes money from, and the mandate that allows it.
public struct SourceSEPADebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The branch's national code.
    public let branchCode: String?
    /// Two letters, ISO 3166.
    public let country: String?
    /// Tells whether two sources are of the same account, without naming it.
    public let fingerprint: String?
    /// The last four characters of the IBAN.
    public let last4: String?
    /// The mandate's reference, which the customer must be told.
    public let mandateReference: String?
    /// A page with the mandate; it carries the client secret.
    public let mandateURL: String?

    private enum CodingKeys: String, CodingKey {
        case country, fingerprint, last4
        case bankCode = "bank_code"
        case branchCode = "branch_code"
        case mandateReference = "mandate_reference"
        case mandateURL = "mandate_url"
    }
}
