/// The body of `POST /_sandbox/sources/{id}/status` and its sibling for intents.
struct StatusRequest: Decodable {
    static let sourceStatuses: Set<String> = [
        "pending", "chargeable", "consumed", "canceled", "failed",
    ]
    static let intentStatuses: Set<String> = [
        "requires_payment_method", "requires_confirmation", "requires_action", "processing",
        "requires_capture", "succeeded", "canceled",
    ]

    let status: String
    /// `user_abort`, `declined` or `processing_error`, with status failed.
    let failureReason: String?

    private enum CodingKeys: String, CodingKey {
        case status
        case failureReason = "failure_reason"
    }
}
