/// Where the customer of a receiver Source pushes the money; amounts in the smallest unit.
public struct SourceReceiver: Sendable, Hashable, Codable {
    /// The account or reference to pay to.
    public let address: String?
    /// Already charged.
    public let amountCharged: Int?
    /// Arrived so far.
    public let amountReceived: Int?
    /// Sent back to the customer.
    public let amountReturned: Int?
    /// How refund details are asked for: `email`, `manual` or `none`.
    public let refundAttributesMethod: String?
    /// Whether refund details are `missing`, `requested` or `available`.
    public let refundAttributesStatus: String?

    private enum CodingKeys: String, CodingKey {
        case address
        case amountCharged = "amount_charged"
        case amountReceived = "amount_received"
        case amountReturned = "amount_returned"
        case refundAttributesMethod = "refund_attributes_method"
        case refundAttributesStatus = "refund_attributes_status"
    }
}
