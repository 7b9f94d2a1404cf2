/// The bank account for an ACH credit transfer, and the account for refunds.
public struct SourceACHCreditTransferDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The account number to pay to.
    public let accountNumber: String?
    /// The bank's name.
    public let bankName: String?
    /// A fingerprint that is equal for two sources of the same account and does not reveal it.
    public let fingerprint: String?
    /// The name of the refund recipient; a refund attribute.
    public let refundAccountHolderName: String?
    /// `individual` or `company`; a refund attribute.
    public let refundAccountHolderType: String?
    /// The account number for refunds; a refund attribute that the API returns but the specification omits.
    public let refundAccountNumber: String?
    /// The routing number for refunds; a refund attribute.
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

/// The ATM payment data of a Multibanco payment, and the account for refunds.
public struct SourceMultibancoDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The shop's number at the ATM.
    public let entity: String?
    /// The payment's number at the ATM.
    public let reference: String?
    /// The city of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressCity: String?
    /// The two-letter country code of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressCountry: String?
    /// The street and number of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressLine1: String?
    /// The second address line of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressLine2: String?
    /// The postal code of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressPostalCode: String?
    /// The state or region of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressState: String?
    /// The name of the refund recipient; a refund attribute.
    public let refundAccountHolderName: String?
    /// The IBAN for refunds; a refund attribute.
    public let refundIBAN: String?

    private enum CodingKeys: String, SnakeKey {
        case entity, reference, refundAccountHolderAddressCity, refundAccountHolderAddressCountry,
            refundAccountHolderAddressLine1, refundAccountHolderAddressLine2,
            refundAccountHolderAddressPostalCode, refundAccountHolderAddressState,
            refundAccountHolderName, refundIBAN
    }
}

/// The bank account for a SEPA credit transfer, and the account for refunds.
///
/// The API returns this hash although the specification omits it. *Source*:
/// <https://docs.stripe.com/sources/sepa-credit-transfer>.
public struct SourceSEPACreditTransferDetails: Codable, Hashable, Sendable, RedactedValue {
    /// The bank's name.
    public let bankName: String?
    /// The BIC to pay to.
    public let bic: String?
    /// The IBAN to pay to.
    public let iban: String?
    /// The city of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressCity: String?
    /// The two-letter country code of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressCountry: String?
    /// The street and number of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressLine1: String?
    /// The second address line of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressLine2: String?
    /// The postal code of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressPostalCode: String?
    /// The state or region of the refund recipient; a refund attribute.
    public let refundAccountHolderAddressState: String?
    /// The name of the refund recipient; a refund attribute.
    public let refundAccountHolderName: String?
    /// The IBAN for refunds; a refund attribute.
    public let refundIBAN: String?

    private enum CodingKeys: String, SnakeKey {
        case bic, iban, bankName, refundAccountHolderAddressCity,
            refundAccountHolderAddressCountry, refundAccountHolderAddressLine1,
            refundAccountHolderAddressLine2, refundAccountHolderAddressPostalCode,
            refundAccountHolderAddressState, refundAccountHolderName, refundIBAN
    }
}
