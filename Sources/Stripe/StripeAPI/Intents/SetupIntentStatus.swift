/// The state of a SetupIntent; only `succeeded` and `canceled` are final.
public struct SetupIntentStatus: OpenValue {
    /// New, or the last try failed; tell by `last_setup_error`.
    public static let requiresPaymentMethod = Self(rawValue: "requires_payment_method")

    /// A method is set; confirm it.
    public static let requiresConfirmation = Self(rawValue: "requires_confirmation")

    /// The customer must act; see `next_action`.
    public static let requiresAction = Self(rawValue: "requires_action")

    /// An asynchronous method is at work.
    public static let processing = Self(rawValue: "processing")

    /// The method may be charged later; final.
    public static let succeeded = Self(rawValue: "succeeded")

    /// Given up; final.
    public static let canceled = Self(rawValue: "canceled")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "requires_payment_method", "requires_confirmation", "requires_action", "processing",
        "succeeded", "canceled",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}

extension SetupIntentStatus {
    /// Whether the status cannot change any more.
    public var isFinal: Bool { self == .succeeded || self == .canceled }
}
