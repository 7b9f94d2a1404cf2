extension KlarnaParams {
    /// One line of what is bought.
    public struct Item: Hashable, Sendable {
        /// What a line stands for.
        public enum Kind: String, Sendable {
            /// Goods.
            case sku
            /// Tax.
            case tax
            /// Shipping.
            case shipping
        }

        /// What it stands for.
        public var kind: Kind
        /// For people.
        public var description: String
        /// How many pieces.
        public var quantity: Int
        /// For all pieces together, in the currency's smallest unit.
        public var totalAmount: Int

        /// Describes a line.
        public init(_ kind: Kind, _ description: String, quantity: Int = 1, totalAmount: Int) {
            self.kind = kind
            self.description = description
            self.quantity = quantity
            self.totalAmount = totalAmount
        }
    }
}
