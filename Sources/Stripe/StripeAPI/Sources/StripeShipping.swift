/// Where goods go.
public struct StripeShipping: Codable, Hashable, Sendable, RedactedValue {
    /// The address.
    public let address: StripeAddress?
    /// The carrier, as `DHL`.
    public let carrier: String?
    /// The receiver.
    public let name: String?
    /// The receiver's number.
    public let phone: String?
    /// The carrier's number of the parcel.
    public let trackingNumber: String?

    private enum CodingKeys: String, CodingKey {
        case address, carrier, name, phone
        case trackingNumber = "tracking_number"
    }
}
