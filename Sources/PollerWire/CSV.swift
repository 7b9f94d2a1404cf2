/// Lines of a CSV file that a spreadsheet opens without running anything.
///
/// *Shape*: RFC 4180: commas, lines that end with CRLF, quotation marks around fields that have a comma, a semicolon, a
/// quotation mark or a line break, UTF-8.
///
/// *Formulas.* Spreadsheets take a field that begins with `=`, `+`, `-` or `@` for a formula, and customers choose
/// their own names. Such a text gets an apostrophe before it, which spreadsheets show as text. Some spreadsheets
/// separate fields by semicolons or tabs. There the text after one of these begins another field, and quotation marks
/// in the middle of such a field enclose nothing. So an apostrophe is inserted there, too, and after a line break.
/// *Source*: <https://www.rfc-editor.org/rfc/rfc4180>, <https://owasp.org/www-community/attacks/CSV_Injection>
package enum CSV {
    /// A field: a text from outside, or a number or name that the server makes, which is never a formula.
    package enum Field: Hashable, Sendable {
        case text(String?)
        case own(String?)
    }

    /// The characters with which formulas begin; those of full width count as well in some locales.
    ///
    /// Scalars, because a sign with an accent is one character, and still begins a formula.
    private static let formulas: Set<Unicode.Scalar> = ["=", "+", "-", "@", "＝", "＋", "－", "＠"]
    /// The characters after which another spreadsheet begins a new field.
    private static let separators: Set<Unicode.Scalar> = [";", "\t", "\r", "\n"]
    /// The characters with which a text must not begin, because spreadsheets ignore them before a formula.
    private static let blanks: Set<Unicode.Scalar> = ["\t", "\r", "\n"]

    /// A line with its line break.
    package static func line(_ fields: [Field]) -> String {
        fields.map(text).joined(separator: ",") + "\r\n"
    }

    private static func text(_ field: Field) -> String {
        switch field {
        case .own(let text): quoted(text ?? "")
        case .text(let text): quoted(harmless(text ?? ""))
        }
    }

    private static func harmless(_ outside: String) -> String {
        // Control characters of terminals are not allowed in a name.
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

    /// Whether a text is a formula by itself.
    private static func beginsFormula(_ scalars: [Unicode.Scalar]) -> Bool {
        guard let first = scalars.first(where: { $0 != " " }) else { return false }
        return formulas.contains(first) || blanks.contains(first)
    }

    /// Whether the rest of a text is a formula when it is a field, also one in quotation marks.
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

/// Payments as a CSV file: one watch a line.
package struct WatchCSV: Hashable, Sendable {
    private static let columns = [
        "created_at", "source", "account", "kind", "order", "state", "closed_reason", "status",
        "payment", "amount", "amount_received", "amount_returned", "currency", "method", "paid_at",
        "reason", "last_error",
    ]

    /// The metadata that have a column each.
    private let metadata: [String]

    /// A file with columns for some metadata; the order has a separate column.
    package init(metadata: [String]) {
        self.metadata = metadata.filter { $0 != "order" }
    }

    /// The first line.
    package var header: String {
        CSV.line((Self.columns + metadata.map { "metadata.\($0)" }).map { .own($0) })
    }

    /// The line of a watch, with amounts in decimal digits: `10.99`.
    package func line(of watch: Watch) -> String {
        let payment = watch.payment
        let unit = payment?.currency.flatMap(CurrencyUnit.init)
        func money(_ amount: Int?) -> CSV.Field {
            .own(amount.map { unit?.text(of: $0) ?? "\($0)" })
        }
        let said = watch.metadata.dictionary
        let fields: [CSV.Field] = [
            .own("\(watch.createdAt)"), .text(watch.source), .text(watch.account),
            .own(watch.kind.rawValue), .text(watch.order ?? said["order"]),
            .own(watch.state.rawValue), .own(watch.closedReason?.rawValue),
            .text(watch.status), .own(payment?.state.rawValue), money(payment?.amount),
            money(payment?.amountReceived), money(payment?.amountReturned),
            .text(payment?.currency?.uppercased()), .text(payment?.method),
            .own(payment?.paidAt.map { "\($0)" }), .text(payment?.reason),
            .text(watch.lastError),
        ]
        return CSV.line(fields + metadata.map { CSV.Field.text(said[$0]) })
    }
}
