/// What the cluster is to charge when a watched source becomes chargeable, exactly once.
///
/// *Units*: the amount in the currency's smallest unit. *Errors*: the server refuses it for anything but a
/// Stripe Source, and for amounts that are not positive.
public struct WatchCharge: Hashable, Sendable, Encodable {
    /// At most the source's own amount, which nil stands for.
    public var amount: Int?
    /// Three letters, lower case; the source's own when nil.
    public var currency: String?
    /// The charge's `description`: for people.
    public var note: String?
    /// The text on the customer's statement, at most 35 bytes.
    public var statementDescriptor: String?
    /// Kept with the charge, at most 49 entries.
    public var metadata: [String: String]?

    /// The source's whole amount.
    public static let whole = WatchCharge()

    /// Describes a charge.
    public init(
        amount: Int? = nil,
        currency: String? = nil,
        note: String? = nil,
        statementDescriptor: String? = nil,
        metadata: [String: String]? = nil
    ) {
        self.amount = amount
        self.currency = currency
        self.note = note
        self.statementDescriptor = statementDescriptor
        self.metadata = metadata
    }

    private enum CodingKeys: String, CodingKey {
        case amount, currency, metadata
        case note = "description"
        case statementDescriptor = "statement_descriptor"
    }
}
