/// The state of a Source; `consumed`, `canceled` and `failed` are final.
public struct SourceStatus: OpenValue {
    /// The customer or the bank has something left to do.
    public static let pending = Self(rawValue: "pending")

    /// Ready to be charged; the steady state of a reusable source.
    public static let chargeable = Self(rawValue: "chargeable")

    /// Charged, or detached from its customer; final.
    public static let consumed = Self(rawValue: "consumed")

    /// Expired unused, a customer who had paid is refunded; final.
    public static let canceled = Self(rawValue: "canceled")

    /// Declined, aborted, or failed at the bank; final.
    public static let failed = Self(rawValue: "failed")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "pending", "chargeable", "consumed", "canceled", "failed",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String

    /// Wraps a word; see ``OpenValue``.
    public init(rawValue: String) {
        self.rawValue = Self.folded(rawValue)
    }
}

extension SourceStatus {
    /// Whether the status cannot change any more; a reusable source may stay `chargeable` for good all the same.
    public var isFinal: Bool { self == .consumed || self == .canceled || self == .failed }
}
