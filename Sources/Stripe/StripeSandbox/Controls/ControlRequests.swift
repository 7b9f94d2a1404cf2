// The bodies of the controls; ``SandboxResponder/respondControl(_:_:)`` lists the paths. They use JSON, because
// controls exist only for tests and imitate nothing.

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
    /// The amount; by default everything that was captured.
    let amount: Int?
    /// Stripe's reason code, for example `product_not_received`.
    let reason: String?
    /// The first status; by default `lost` for a returned direct debit, otherwise `needs_response`.
    let status: String?
}

/// The body of `POST /_sandbox/refunds/{id}/status`; the ID `next` sets the first status of the next refund.
struct RefundStatusRequest: Decodable {
    /// `pending`, `requires_action`, `succeeded`, `failed` or `canceled`; only the first two for `next`.
    let status: String
    /// The reason for `failed`; `unknown` by default.
    let failureReason: String?
    /// The reason for `pending`: `processing` (default), `insufficient_funds` or `charge_pending`.
    let pendingReason: String?

    private enum CodingKeys: String, CodingKey {
        case status
        case failureReason = "failure_reason"
        case pendingReason = "pending_reason"
    }
}

/// The body of `POST /_sandbox/payment_intents/{id}/presentment`: the amount shown to the customer.
struct PresentmentRequest: Decodable {
    let amount: Int
    let currency: String
}

/// The body of `POST /_sandbox/{sources,payment_intents,customers}/{id}/payments`: money sent to a receiver.
struct PaymentRequest: Decodable {
    let amount: Int
    /// For a customer: only an intent in this currency receives the money.
    let currency: String?
    /// Whether the payment is announced first and arrives after the automatic delay.
    let pending: Bool?
}

/// The body of `POST /_sandbox/clock/advance`.
struct AdvanceRequest: Decodable {
    /// The time to skip, in sandbox seconds.
    let seconds: Double
}

/// The body of `POST /_sandbox/bulk`.
struct BulkRequest: Decodable {
    let count: Int
    /// The type; `ideal` by default.
    let type: String?
    /// The amount; 1099 by default.
    let amount: Int?
    /// The connected account of the Sources; the platform by default.
    let account: String?
}

/// The body of `POST /_sandbox/keys`.
struct KeyRequest: Decodable {
    let key: String
    let account: String?
    /// Access by the resource name in the path (`sources`, `charges`, …); `*` for all others.
    let permissions: [String: KeyGrant.Access]?
    let expired: Bool?
}

/// The body of `POST /_sandbox/webhooks/roll`.
struct RollRequest: Decodable {
    let endpoint: String
    /// How long the old secret also signs, at most a day, as at Stripe.
    let overlapSeconds: Int64?

    private enum CodingKeys: String, CodingKey {
        case endpoint
        case overlapSeconds = "overlap_seconds"
    }
}

/// The body of `POST /_sandbox/locks`.
struct LockRequest: Decodable {
    /// The locked object.
    let id: String
    /// The duration; without it the object is locked until it is unlocked.
    let ms: Int64?
    /// Whether reads are blocked too.
    let reads: Bool?
}

/// The body of `POST /_sandbox/webhooks/resend`.
struct ResendRequest: Decodable {
    let event: String
    /// The endpoint; without it, all endpoints that accept the event.
    let endpoint: String?
}
