/// Where the customer of a receiver Source pushes the money; amounts in the smallest unit.
///
/// For a consumed source `amount_received` is the sum of returned and charged: whatever came too much or too
/// late goes back. *Source*: <https://docs.stripe.com/api/sources/object>, `receiver`.
public struct SourceReceiver: Codable, Hashable, Sendable, RedactedValue {
    /// The account or reference to pay to.
    public let address: String?
    /// Already charged.
    public let amountCharged: Int?
    /// Arrived so far; less than the Source's amount while the customer has paid a part.
    public let amountReceived: Int?
    /// Sent back to the customer.
    public let amountReturned: Int?
    /// How refund details are asked for.
    public let refundAttributesMethod: RefundAttributesMethod?
    /// Whether refund details are known.
    public let refundAttributesStatus: RefundAttributesStatus?

    private enum CodingKeys: String, CodingKey {
        case address
        case amountCharged = "amount_charged"
        case amountReceived = "amount_received"
        case amountReturned = "amount_returned"
        case refundAttributesMethod = "refund_attributes_method"
        case refundAttributesStatus = "refund_attributes_status"
    }
}
