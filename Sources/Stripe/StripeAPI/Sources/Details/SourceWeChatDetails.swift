/// How the customer reaches WeChat Pay; the flow is `none`, and yet somebody must act.
public struct SourceWeChatDetails: Codable, Hashable, Sendable, RedactedValue {
    /// Opens the WeChat app on an iPhone.
    public let iosNativeURL: String?
    /// The id of the prepared payment.
    public let prepayID: String?
    /// The text of the QR code to show; `weixin://…`.
    public let qrCodeURL: String?
    /// The text on the customer's statement, as the bank got it.
    public let statementDescriptor: String?

    private enum CodingKeys: String, CodingKey {
        case iosNativeURL = "ios_native_url"
        case prepayID = "prepay_id"
        case qrCodeURL = "qr_code_url"
        case statementDescriptor = "statement_descriptor"
    }
}
