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

    private enum CodingKeys: String, SnakeKey {
        case country, fingerprint, last4, bankCode, branchCode, mandateReference, mandateURL
    }
}

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

    private enum CodingKeys: String, SnakeKey {
        case country, fingerprint, last4, type, bankName, routingNumber
    }
}

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

    private enum CodingKeys: String, SnakeKey {
        case category, country, fingerprint, last4, bankAddressCity, bankAddressPostalCode,
            bankName, routingNumber
        case bankAddressLine1 = "bank_address_line_1"
        case bankAddressLine2 = "bank_address_line_2"
    }
}

/// The Australian bank account a BECS debit takes money from.
public struct SourceAUBECSDebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank and branch.
    public let bsbNumber: String?
    /// Tells whether two sources are of the same account, without naming it.
    public let fingerprint: String?
    /// The last four digits.
    public let last4: String?

    private enum CodingKeys: String, SnakeKey {
        case fingerprint, last4, bsbNumber
    }
}
