/// Lines of a CSV file that are safe to open in a spreadsheet.
///
/// *Shape*: RFC 4180 in UTF-8: comma-separated, with CRLF line ends. A field with a comma, a semicolon, a quotation
/// mark or a line break is quoted.
///
/// *Formulas.* Spreadsheets treat a field that begins with `=`, `+`, `-` or `@` as a formula, and customers choose
/// their own names. Such a text is prefixed with an apostrophe, which makes spreadsheets show it as text. Some
/// spreadsheets separate fields by semicolons or tabs. For them, the text after a separator begins another field, and
/// quotation marks inside a field have no effect. So an apostrophe is also inserted after these separators and after a
/// line break.
/// *Source*: <https://www.rfc-editor.org/rfc/rfc4180>, <https://owasp.org/www-community/attacks/CSV_Injection>
package enum CSV {
    /// A field: untrusted text, or a number or name from the server, which is never a formula.
    package enum Field: Hashable, Sendable {
        case text(String?)
        case trusted(String?)
    }

    /// The characters that begin a formula, including the full-width forms that some locales accept.
    ///
    /// The set holds scalars: a sign with a combining accent is one character, and still begins a formula.
    private static let formulas: Set<Unicode.Scalar> = ["=", "+", "-", "@", "＝", "＋", "－", "＠"]
    /// The characters after which some spreadsheets begin a new field.
    private static let separators: Set<Unicode.Scalar> = [";", "\t", "\r", "\n"]
    /// The characters that a text must not begin with, because spreadsheets skip them before a formula.
    private static let blanks: Set<Unicode.Scalar> = ["\t", "\r", "\n"]

    /// Returns a line with its line break.
    package static func line(_ fields: [Field]) -> String {
        fields.map(text).joined(separator: ",") + "\r\n"
    }

    private static func text(_ field: Field) -> String {
        switch field {
        case .trusted(let text): quoted(text ?? "")
        case .text(let text): quoted(harmless(text ?? ""))
        }
    }

    private static func harmless(_ outside: String) -> String {
        // Control characters of terminals are not allowed in names.
        let isSteering = { (scalar: Unicode.Scalar) in
            scalar.properties.generalCategory == .control
                && !"\t\n\r".unicodeScalars.contains(scalar)
        }
        let scalars = outside.unicodeScalars.map { scalar -> Unicode.Scalar in
            isSteering(scalar) ? "?" : scalar
        }
        var written = String.UnicodeScalarView()
        var isBehindSeparator = false
        for (index, scalar) in scalars.enumerated() {
            let isRisky =
                index == 0
                ? beginsFormula(scalars) : isBehindSeparator && isFormula(scalars[index...])
            if isRisky { written.append("'") }
            written.append(scalar)
            isBehindSeparator = separators.contains(scalar)
        }
        return String(written)
    }

    /// Returns whether the whole text is a formula.
    private static func beginsFormula(_ scalars: [Unicode.Scalar]) -> Bool {
        guard let first = scalars.first(where: { $0 != " " }) else { return false }
        return formulas.contains(first) || blanks.contains(first)
    }

    /// Returns whether the rest of a text is a formula when it is read as a field, quoted or not.
    private static func isFormula(_ rest: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = rest.first(where: { $0 != " " && $0 != "\"" }) else { return false }
        return formulas.contains(first)
    }

    private static func quoted(_ text: String) -> String {
        guard text.utf8.contains(where: { [0x22, 0x2C, 0x3B, 0x0A, 0x0D].contains($0) }) else {
            return text
        }
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\"" { scalars.append(scalar) }
            scalars.append(scalar)
        }
        return "\"\(String(scalars))\""
    }
}

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
