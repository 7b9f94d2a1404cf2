/// The bank account of a SEPA direct debit and its mandate.
public struct SourceSEPADebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's national code.
    public let bankCode: String?
    /// The branch's national code.
    public let branchCode: String?
    /// The ISO 3166 country code: two letters.
    public let country: String?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
    public let fingerprint: String?
    /// The last four characters of the IBAN.
    public let last4: String?
    /// The mandate reference, which the customer must be given.
    public let mandateReference: String?
    /// The URL of the mandate, which includes the client secret.
    public let mandateURL: String?

    private enum CodingKeys: String, SnakeKey {
        case country, fingerprint, last4, bankCode, branchCode, mandateReference, mandateURL
    }
}

/// The US bank account of an ACH debit, verified with two micro-deposits.
public struct SourceACHDebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's name.
    public let bankName: String?
    /// The ISO 3166 country code: two letters.
    public let country: String?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
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

/// The Canadian bank account of a pre-authorised debit.
public struct SourceACSSDebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The branch's city.
    public let bankAddressCity: String?
    /// The branch's street and number.
    public let bankAddressLine1: String?
    /// The second line of the branch's address.
    public let bankAddressLine2: String?
    /// The branch's postal code.
    public let bankAddressPostalCode: String?
    /// The bank's name.
    public let bankName: String?
    /// The type of account.
    public let category: String?
    /// The ISO 3166 country code: two letters.
    public let country: String?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
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

/// The Australian bank account of a BECS debit.
public struct SourceAUBECSDebitDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The BSB number, which identifies bank and branch.
    public let bsbNumber: String?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
    public let fingerprint: String?
    /// The last four digits.
    public let last4: String?

    private enum CodingKeys: String, SnakeKey {
        case fingerprint, last4, bsbNumber
    }
}
