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

    private enum CodingKeys: String, CodingKey {
        case entity, reference
        case refundAccountHolderAddressCity = "refund_account_holder_address_city"
        case refundAccountHolderAddressCountry = "refund_account_holder_address_country"
        case refundAccountHolderAddressLine1 = "refund_account_holder_address_line1"
        case refundAccountHolderAddressLine2 = "refund_account_holder_address_line2"
        case refundAccountHolderAddressPostalCode = "refund_account_holder_address_postal_code"
        case refundAccountHolderAddressState = "refund_account_holder_address_state"
        case refundAccountHolderName = "refund_account_holder_name"
        case refundIBAN = "refund_iban"
    }
}
