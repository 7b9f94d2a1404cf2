// The bodies of the controls; ``SandboxResponder/respondControl(_:_:)`` lists the paths. JSON rather than forms:
// controls are for tests and have nothing to imitate.

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

/// The body of `POST /_sandbox/charges/{id}/status`.
struct ChargeStatusRequest: Decodable {
    /// `succeeded` or `failed`.
    let status: String
}

/// The body of `POST /_sandbox/charges/{id}/disputes`, all of it optional.
struct DisputeRequest: Decodable {
    /// All that was taken unless given.
    let amount: Int?
    /// Stripe's word, such as `product_not_received`.
    let reason: String?
    /// What it begins with; `lost` for a direct debit that was sent back, else `needs_response`, unless given.
    let status: String?
}

/// The body of `POST /_sandbox/refunds/{id}/status`; the id `next` means the next refund, which then begins so.
struct RefundStatusRequest: Decodable {
    /// `pending`, `requires_action`, `succeeded`, `failed` or `canceled`; the first two for `next`.
    let status: String
    /// With `failed`; `unknown` unless given.
    let failureReason: String?
    /// With `pending`: `processing` unless given, `insufficient_funds` or `charge_pending`.
    let pendingReason: String?

    private enum CodingKeys: String, CodingKey {
        case status
        case failureReason = "failure_reason"
        case pendingReason = "pending_reason"
    }
}

/// The body of `POST /_sandbox/payment_intents/{id}/presentment`: what the customer is shown.
struct PresentmentRequest: Decodable {
    let amount: Int
    let currency: String
}

/// The body of `POST /_sandbox/{sources,payment_intents,customers}/{id}/payments`: money sent to a receiver.
struct PaymentRequest: Decodable {
    let amount: Int
    /// Of a customer's: only an intent in this currency takes it.
    let currency: String?
    /// Whether it is announced first and arrives after the automatic delay.
    let pending: Bool?
}

/// The body of `POST /_sandbox/clock/advance`.
struct AdvanceRequest: Decodable {
    /// Sandbox seconds to skip.
    let seconds: Double
}

/// The body of `POST /_sandbox/bulk`.
struct BulkRequest: Decodable {
    let count: Int
    /// `ideal` unless given.
    let type: String?
    /// 1099 unless given.
    let amount: Int?
    /// The connected account they belong to; the platform's own unless given.
    let account: String?
}

/// The body of `POST /_sandbox/keys`.
struct KeyRequest: Decodable {
    let key: String
    let account: String?
    /// Access by the name in the path (`sources`, `charges`, …); `*` for all others.
    let permissions: [String: KeyGrant.Access]?
    let expired: Bool?
}

/// The body of `POST /_sandbox/webhooks/roll`.
struct RollRequest: Decodable {
    let endpoint: String
    /// How long the old secret signs as well; a day at most, as at Stripe.
    let overlapSeconds: Int64?

    private enum CodingKeys: String, CodingKey {
        case endpoint
        case overlapSeconds = "overlap_seconds"
    }
}

/// The body of `POST /_sandbox/locks`.
struct LockRequest: Decodable {
    /// The object another request is working on.
    let id: String
    /// How long; until unlocked when absent.
    let ms: Int64?
    /// Whether reads wait too.
    let reads: Bool?
}

/// The body of `POST /_sandbox/webhooks/resend`.
struct ResendRequest: Decodable {
    let event: String
    /// All that accept it when absent.
    let endpoint: String?
}
