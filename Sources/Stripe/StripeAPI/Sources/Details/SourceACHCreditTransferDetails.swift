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

    private enum CodingKeys: String, CodingKey {
        case fingerprint
        case accountNumber = "account_number"
        case bankName = "bank_name"
        case refundAccountHolderName = "refund_account_holder_name"
        case refundAccountHolderType = "refund_account_holder_type"
        case refundAccountNumber = "refund_account_number"
        case refundRoutingNumber = "refund_routing_number"
        case routingNumber = "routing_number"
        case swiftCode = "swift_code"
    }
}
