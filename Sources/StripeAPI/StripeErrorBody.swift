/// The object under `error` in every error response.
///
/// Shape: `{"error": {"type": "card_error", "code": "card_declined", "decline_code": …, "message": …}}`;
/// see `api_errors` in Stripe's OpenAPI specification.
public struct StripeErrorBody: Sendable, Hashable, Codable {
    /// The family of the error.
    public let type: StripeErrorType?

    /// A stable word such as `resource_missing` or `lock_timeout`.
    public let code: String?

    /// The issuer's reason, for declined cards.
    public let declineCode: String?

    /// Text for people; it may quote input.
    public let message: String?

    /// The parameter at fault.
    public let param: String?

    /// The charge a failed payment made.
    public let charge: String?

    /// A page about the code.
    public let docURL: String?

    /// The request in the Dashboard's log.
    public let requestLogURL: String?

    private enum CodingKeys: String, CodingKey {
        case type, code, message, param, charge
        case declineCode = "decline_code"
        case docURL = "doc_url"
        case requestLogURL = "request_log_url"
    }
}
