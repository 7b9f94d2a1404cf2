/// How many payments a filter finds, and their sums.
public struct WatchSummary: WireObject, Hashable {
    /// What payments of one currency come to.
    public struct Sum: WireObject, Hashable {
        /// Three letters, lower case.
        public var currency = ""
        /// What was to be paid, in the currency's smallest unit.
        public var amount = 0

        package init() {}

        /// A sum.
        package init(currency: String, amount: Int) {
            (self.currency, self.amount) = (currency, amount)
        }

        package static let shape = Shape<Sum> {
            Field("currency", \.currency)
            Field("amount", \.amount, note: "What was to be paid, in the smallest unit.")
        }
    }

    /// Payments that were counted.
    public var count = 0
    /// Whether there are more than were counted, or may be: then ``count`` and ``sums`` are of those that were.
    public var isCapped = false
    /// One sum for each currency, by its name; payments whose amount is not known yet are in none.
    public var sums: [Sum] = []

    package init() {}

    package static let shape = Shape<WatchSummary>("WatchSummary") {
        Field("count", \.count, note: "At most 10,000.")
        Field(
            "capped",
            \.isCapped,
            note:
                "Whether there are more, or may be: then count and sums are of those that were counted."
        )
        Field(
            "sums",
            \.sums,
            note: "One for each currency; payments whose amount is not known yet are in none."
        )
    }
}
