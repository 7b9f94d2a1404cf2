/// How the customer reaches Alipay.
public struct SourceAlipayDetails: Codable, Hashable, Sendable, RedactedValue {
    /// What the Alipay app is handed by its own SDK.
    public let dataString: String?
    /// Opens the Alipay app; nil when the source was made without an app's bundle id.
    public let nativeURL: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, CodingKey {
        case dataString = "data_string"
        case nativeURL = "native_url"
        case statementDescriptor = "statement_descriptor"
    }
}
