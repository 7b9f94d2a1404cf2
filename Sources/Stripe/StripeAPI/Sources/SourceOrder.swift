/// What is bought with a Source; amounts in the currency's smallest unit.
///
/// *Source*: <https://docs.stripe.com/api/sources/object>, `source_order`.
public struct SourceOrder: Codable, Hashable, Sendable, RedactedValue {
    /// The sum of the items.
    public let amount: Int?
    /// Three letters, lower case.
    public let currency: String?
    /// The customer's address for mail about the order.
    public let email: String?
    /// The lines.
    public let items: [Item]?
    /// Where the goods go.
    public let shipping: StripeShipping?

    /// One line of an order.
    public struct Item: Codable, Hashable, Sendable {
        /// For all pieces together.
        public let amount: Int?
        /// Three letters, lower case.
        public let currency: String?
        /// For people.
        public let description: String?
        /// The id of what is bought.
        public let parent: String?
        /// How many pieces.
        public let quantity: Int?
        /// `sku`, `tax`, `shipping` or `discount`.
        public let type: String?
    }
}
