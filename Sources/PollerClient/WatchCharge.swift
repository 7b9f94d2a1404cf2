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
    /// Nothing is to be charged, whatever the server's account charges otherwise.
    private var isNothing = false

    /// Not to be charged, whatever the server's account charges otherwise.
    public static let nothing: WatchCharge = {
        var charge = WatchCharge()
        charge.isNothing = true
        return charge
    }()

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

    /// Writes the charge as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        guard !isNothing else {
            var value = encoder.singleValueContainer()
            return try value.encode(false)
        }
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encodeIfPresent(amount, forKey: .amount)
        try fields.encodeIfPresent(currency, forKey: .currency)
        try fields.encodeIfPresent(note, forKey: .note)
        try fields.encodeIfPresent(statementDescriptor, forKey: .statementDescriptor)
        try fields.encodeIfPresent(metadata, forKey: .metadata)
    }
}
