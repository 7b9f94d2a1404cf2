/// The state of a PaymentIntent; only `succeeded` and `canceled` are final.
public struct PaymentIntentStatus: OpenValue {
    /// New, or the last try failed; tell by `last_payment_error`.
    public static let requiresPaymentMethod = Self(rawValue: "requires_payment_method")

    /// A method is set; confirm it.
    public static let requiresConfirmation = Self(rawValue: "requires_confirmation")

    /// The customer must act; see `next_action`.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// An asynchronous method is at work, for days maybe.
    public static let processing = Self(rawValue: "processing")

    /// Authorised; capture it.
    public static let requiresCapture = Self(rawValue: "requires_capture")

    /// Paid; final.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Given up; final.
    public static let canceled = Self(rawValue: "canceled")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "requires_payment_method", "requires_confirmation", "requires_action", "processing",
        "requires_capture", "succeeded", "canceled", "requires_source",
        "requires_source_action",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}

extension PaymentIntentStatus {
    /// Whether the status cannot change any more; the charge may still be refunded or disputed.
    public var isFinal: Bool { self == .succeeded || self == .canceled }
}
