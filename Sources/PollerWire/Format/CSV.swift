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
