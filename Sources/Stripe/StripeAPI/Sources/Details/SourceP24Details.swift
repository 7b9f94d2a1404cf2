/// A Przelewy24 payment.
public struct SourceP24Details: Codable, Hashable, Sendable, RedactedValue {
    /// Przelewy24's reference.
    public let reference: String?

    private enum CodingKeys: String, CodingKey {
        case reference
    }
}
