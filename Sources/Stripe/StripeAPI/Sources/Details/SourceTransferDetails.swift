/// Where a customer sends an ACH credit transfer, and where a refund goes.
public struct SourceACHCreditTransferDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The account number to pay to.
    public let accountNumber: String?
    /// The bank's name.
    public let bankName: String?
    /// Tells whether two sources are of the same account, without naming it.
    public let fingerprint: String?
    /// Who gets a refund; one of the refund attributes.
    public let refundAccountHolderName: String?
    /// `individual` or `company`; one of the refund attributes.
    public let refundAccountHolderType: String?
    /// The account a refund goes to; one of the refund attributes, in answers though not in the specification.
    public let refundAccountNumber: String?
    /// The routing number a refund goes to; one of the refund attributes.
    public let refundRoutingNumber: String?
    /// The routing number to pay to.
    public let routingNumber: String?
    /// The SWIFT code to pay to.
    public let swiftCode: String?

    private enum CodingKeys: String, SnakeKey {
        case fingerprint, accountNumber, bankName, refundAccountHolderName,
            refundAccountHolderType, refundAccountNumber, refundRoutingNumber, routingNumber,
            swiftCode
    }
}

/// What the customer types at a Portuguese ATM, and where a refund goes.
public struct SourceMultibancoDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The shop's number at the ATM.
    public let entity: String?
    /// The payment's number at the ATM.
    public let reference: String?
    /// The city of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressCity: String?
    /// The country, two letters, of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressCountry: String?
    /// Street and number of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressLine1: String?
    /// More of the address of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressLine2: String?
    /// The postal code of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressPostalCode: String?
    /// The state or region of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressState: String?
    /// Who gets a refund; one of the refund attributes.
    public let refundAccountHolderName: String?
    /// The account a refund goes to; one of the refund attributes.
    public let refundIBAN: String?

    private enum CodingKeys: String, SnakeKey {
        case entity, reference, refundAccountHolderAddressCity, refundAccountHolderAddressCountry,
            refundAccountHolderAddressLine1, refundAccountHolderAddressLine2,
            refundAccountHolderAddressPostalCode, refundAccountHolderAddressState,
            refundAccountHolderName, refundIBAN
    }
}

/// Where a customer sends a SEPA credit transfer, and where a refund goes.
///
/// In answers though not in the specification. *Source*: <https://docs.stripe.com/sources/sepa-credit-transfer>.
public struct SourceSEPACreditTransferDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's name.
    public let bankName: String?
    /// The bank to pay to.
    public let bic: String?
    /// The account to pay to.
    public let iban: String?
    /// The city of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressCity: String?
    /// The country, two letters, of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressCountry: String?
    /// Street and number of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressLine1: String?
    /// More of the address of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressLine2: String?
    /// The postal code of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressPostalCode: String?
    /// The state or region of whoever gets a refund; one of the refund attributes.
    public let refundAccountHolderAddressState: String?
    /// Who gets a refund; one of the refund attributes.
    public let refundAccountHolderName: String?
    /// The account a refund goes to; one of the refund attributes.
    public let refundIBAN: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, iban, bankName, refundAccountHolderAddressCity,
            refundAccountHolderAddressCountry, refundAccountHolderAddressLine1,
            refundAccountHolderAddressLine2, refundAccountHolderAddressPostalCode,
            refundAccountHolderAddressState, refundAccountHolderName, refundIBAN
    }
}
