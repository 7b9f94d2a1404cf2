/// Who pays; the verified fields come from the bank and are set in answers alone.
public struct SourceOwner: Codable, Hashable, Sendable, RedactedValue {
    /// As given.
    public let address: StripeAddress?
    /// As given.
    public let email: String?
    /// As given; at least 3 characters.
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

    /// Describes an owner to send.
    public init(
        name: String? = nil,
        email: String? = nil,
        phone: String? = nil,
        address: StripeAddress? = nil
    ) {
        self.address = address
        self.email = email
        self.name = name
        self.phone = phone
        verifiedAddress = nil
        verifiedEmail = nil
        verifiedName = nil
        verifiedPhone = nil
    }

    /// What is sent of it.
    var parameters: JSONValue {
        .fields([
            "name": .optional(name), "email": .optional(email), "phone": .optional(phone),
            "address": address?.parameters.unlessEmpty,
        ])
    }

    private enum CodingKeys: String, CodingKey {
        case address, email, name, phone
        case verifiedAddress = "verified_address"
        case verifiedEmail = "verified_email"
        case verifiedName = "verified_name"
        case verifiedPhone = "verified_phone"
    }
}
