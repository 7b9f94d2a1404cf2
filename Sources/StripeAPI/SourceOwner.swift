/// Who pays; the verified fields come from the bank.
public struct SourceOwner: Sendable, Hashable, Codable {
    /// As given.
    public let address: StripeAddress?
    /// As given.
    public let email: String?
    /// As given.
    public let name: String?
    /// As given.
    public let phone: String?
    /// As the bank knows it.
    public let verifiedAddress: StripeAddress?
    /// As the bank knows it.
    public let verifiedEmail: String?
    /// As the bank knows it.
    public let verifiedName: String?
    /// As the bank knows it.
    public let verifiedPhone: String?

    private enum CodingKeys: String, CodingKey {
        case address, email, name, phone
        case verifiedAddress = "verified_address"
        case verifiedEmail = "verified_email"
        case verifiedName = "verified_name"
        case verifiedPhone = "verified_phone"
    }
}
