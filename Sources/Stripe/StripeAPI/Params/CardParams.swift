/// A card as its holder reads it out; printed as nothing but its type's name.
public struct CardParams: Hashable, Sendable, RedactedValue {
    /// Digits without spaces.
    public var number: String?
    /// Three digits, or four.
    public var cvc: String?
    /// 1 to 12.
    public var expMonth: Int?
    /// Two digits or four.
    public var expYear: Int?
    /// The holder's name, sent as the owner's.
    public var name: String?
    /// The holder's address, sent as the owner's.
    public var address: StripeAddress?

    /// Describes a card.
    public init(
        number: String? = nil,
        cvc: String? = nil,
        expMonth: Int? = nil,
        expYear: Int? = nil,
        name: String? = nil,
        address: StripeAddress? = nil
    ) {
        self.number = number
        self.cvc = cvc
        self.expMonth = expMonth
        self.expYear = expYear
        self.name = name
        self.address = address
    }
}
