/// Payments as a CSV file with one watch per line.
package struct WatchCSV: Hashable, Sendable {
    private static let columns = [
        "created_at", "source", "account", "kind", "order", "state", "closed_reason", "status",
        "payment", "amount", "amount_received", "amount_returned", "currency", "method", "paid_at",
        "reason", "last_error",
    ]

    /// The metadata names that have a column.
    private let metadata: [String]

    /// Creates a file with columns for some metadata names.
    ///
    /// The order always has a column.
    package init(metadata: [String]) {
        self.metadata = metadata.filter { $0 != "order" }
    }

    /// The header line.
    package var header: String {
        CSV.line((Self.columns + metadata.map { "metadata.\($0)" }).map { .trusted($0) })
    }

    /// Returns the line of a watch, with amounts as decimals, such as `10.99`.
    package func line(of watch: Watch) -> String {
        let payment = watch.payment
        let unit = payment?.currency.flatMap(CurrencyUnit.init)
        func money(_ amount: Int?) -> CSV.Field {
            .trusted(amount.map { unit?.text(of: $0) ?? "\($0)" })
        }
        let values = watch.metadata.dictionary
        let fields: [CSV.Field] = [
            .trusted("\(watch.createdAt)"), .text(watch.source), .text(watch.account),
            .trusted(watch.kind.rawValue), .text(watch.order ?? values["order"]),
            .trusted(watch.state.rawValue), .trusted(watch.closedReason?.rawValue),
            .text(watch.status), .trusted(payment?.state.rawValue), money(payment?.amount),
            money(payment?.amountReceived), money(payment?.amountReturned),
            .text(payment?.currency?.uppercased()), .text(payment?.method),
            .trusted(payment?.paidAt.map { "\($0)" }), .text(payment?.reason),
            .text(watch.lastError),
        ]
        return CSV.line(fields + metadata.map { CSV.Field.text(values[$0]) })
    }
}
