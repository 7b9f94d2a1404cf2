/// Detects characters that tools add to a value in a variable or a file.
///
/// `docker --env-file` and Compose's short form keep quotation marks as a part of the value, which
/// a shell and systemd remove. Some editors begin a file with a byte order mark. Neither is ever
/// intended. A service would reject such a secret with an error that does not name the cause.
package enum WrittenValue {
    /// Returns the problem and the remedy, as a clause to follow the name of the variable or file;
    /// `nil` if there is none.
    ///
    /// Never quotes the value.
    package static func problem(in text: String) -> String? {
        if text.unicodeScalars.first == byteOrderMark {
            return "begins with a byte order mark (U+FEFF): save it as UTF-8 without one"
        }
        guard text.count >= 2, let first = text.first, let last = text.last,
            quotationMarks.contains(where: { $0 == first && $1 == last })
        else { return nil }
        return "is in quotation marks, which are part of the value: remove them, as docker "
            + "--env-file keeps them"
    }

    /// Returns a text without a leading byte order mark.
    package static func withoutByteOrderMark(_ text: String) -> String {
        text.unicodeScalars.first == byteOrderMark ? String(text.unicodeScalars.dropFirst()) : text
    }

    private static let byteOrderMark: Unicode.Scalar = "\u{FEFF}"
    private static let quotationMarks: [(Character, Character)] = [
        ("\"", "\""), ("'", "'"), ("\u{201C}", "\u{201D}"), ("\u{2018}", "\u{2019}"),
    ]
}
