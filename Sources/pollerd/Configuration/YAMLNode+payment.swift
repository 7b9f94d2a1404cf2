import PollerIdentity
import PollerUpstreams

/// Reads the description of the payment in an upstream's response.
///
/// *Shape*: the amount and the currency are optional. The pointer is optional too and defaults to that of the status.
/// ```
/// payment:
///   state: {pointer: /payment/state, map: {open: awaiting_customer, settled: paid, rejected: failed}}
///   amount: /payment/value
///   amount_format: decimal
///   currency: /payment/currency
/// ```
/// `currency: eur` sets a constant currency.
extension YAMLNode {
    /// Reads the description.
    ///
    /// `status` is the pointer to the upstream's status.
    func payment(status: String) throws(ConfigurationError) -> HTTPPayment {
        try checkMembers(of: "upstreams.NAME.payment")
        let state = try required("state")
        try state.checkMembers(of: "upstreams.NAME.payment.state")
        let place = try state.member("pointer")?.text() ?? status
        var words: [String: String] = [:]
        for (word, meaning) in try state.required("map").members() {
            words[word] = try meaning.text()
        }
        let amount = try member("amount")?.text()
        let format = try member("amount_format")?.text()
        let currency = try member("currency")?.text()
        return try checked { () throws(InvalidInput) in
            try HTTPPayment(
                state: JSONPointer(place, field: "payment.state.pointer"),
                words: words,
                amount: amount.map { text throws(InvalidInput) in
                    try JSONPointer(text, field: "payment.amount")
                },
                format: try HTTPPayment.AmountFormat(configured: format),
                currency: currency.map { text throws(InvalidInput) in
                    text.hasPrefix("/")
                        ? .at(try JSONPointer(text, field: "payment.currency")) : .always(text)
                }
            )
        }
    }
}

extension HTTPPayment.AmountFormat {
    /// Finds the format with this name, or `auto` for `nil`.
    fileprivate init(configured name: String?) throws(InvalidInput) {
        guard let format = Self(rawValue: name ?? Self.auto.rawValue) else {
            let names = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput("payment.amount_format", "must be one of \(names)")
        }
        self = format
    }
}
