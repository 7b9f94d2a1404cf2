/// The number of payments that match a filter, and their sums.
public struct WatchSummary: WireObject, Hashable {
    /// The sum of the payments in one currency.
    public struct Sum: WireObject, Hashable {
        /// The currency, in three lowercase letters.
        public var currency = ""
        /// The sum of the amounts to pay, in the currency's smallest unit.
        public var amount = 0

        package init() {}

        package init(currency: String, amount: Int) {
            (self.currency, self.amount) = (currency, amount)
        }

        package static let shape = Shape<Sum> {
            Field("currency", \.currency)
            Field("amount", \.amount).note("The amount due, in the smallest unit.")
        }
    }

    /// The payments counted.
    public var count = 0
    /// Whether more payments match, or may match, than were counted.
    ///
    /// ``count`` and ``sums`` then cover only those counted.
    public var isCapped = false
    /// One sum per currency, sorted by currency.
    ///
    /// Payments without a known amount are in none.
    public var sums: [Sum] = []

    package init() {}

    package static let shape = Shape<WatchSummary>("WatchSummary") {
        Field("count", \.count).note("At most 10,000.")
        Field("capped", \.isCapped)
            .note(
                "Whether there are, or may be, more. Count and sums then cover only the counted "
                    + "ones."
            )
        Field("sums", \.sums)
            .note("One entry for each currency. Payments whose amount is unknown are not included.")
    }
}
