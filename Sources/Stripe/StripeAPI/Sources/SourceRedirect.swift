/// Where the customer of a redirect Source goes and how that went.
public struct SourceRedirect: Codable, Hashable, Sendable {
    /// Where the customer comes back to.
    public let returnURL: String
    /// How far the customer got.
    public let status: SourceRedirectStatus
    /// Where to send the customer.
    public let url: String
    /// Why it failed; only with status `failed`.
    public let failureReason: SourceRedirectFailure?

    private enum CodingKeys: String, CodingKey {
        case status, url
        case returnURL = "return_url"
        case failureReason = "failure_reason"
    }
}

extension SourceRedirect: RedactedValue {
    /// The status alone: the URL carries the client secret.
    public var description: String { "redirect \(status)" }
}
