/// The Belgian account that paid through Bancontact; empty until it did.
public struct SourceBancontactDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The bank's BIC.
    public let bic: String?
    /// The last four characters of the IBAN.
    public let ibanLast4: String?
    /// The language of the authorisation page, as `de`.
    public let preferredLanguage: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, CodingKey {
        case bic
        case bankCode = "bank_code"
        case bankName = "bank_name"
        case ibanLast4 = "iban_last4"
        case preferredLanguage = "preferred_language"
        case statementDescriptor = "statement_descriptor"
    }
}
