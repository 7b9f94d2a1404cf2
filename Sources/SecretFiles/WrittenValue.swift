/// What tools add to a value on its way into a variable or a file.
///
/// `docker --env-file` and Compose's short form keep quotation marks as a part of the value, which a shell and systemd
/// take off. Some editors begin a file with a byte order mark. Neither is ever meant, and a secret with one is refused
/// where it is used, with an error that does not say why.
package enum WrittenValue {
    /// What is wrong with a value and what to do, to follow the name of what holds it; nil where nothing is.
    ///
    /// Never quotes the value.
    package static func problem(in text: String) -> String? {
        if text.unicodeScalars.first == byteOrderMark {
            return "begins with a byte order mark (U+FEFF): save it as UTF-8 without one"
        }
        guard text.count >= 2, let first = text.first, let last = text.last,
            quotationMarks.contains(where: { $0 == first && $1 == last })
        else { return nil }
        return "is in quotation marks, which are a part of the value: leave them out, as docker "
            + "--env-file keeps them"
    }

    /// A text without the byte order mark that it may begin with.
    package static func withoutByteOrderMark(_ text: String) -> String {
        text.unicodeScalars.first == byteOrderMark ? String(text.unicodeScalars.dropFirst()) : text
    }

    private static let byteOrderMark: Unicode.Scalar = "\u{FEFF}"
    private static let quotationMarks: [(Character, Character)] = [
        ("\"", "\""), ("'", "'"), ("\u{201C}", "\u{201D}"), ("\u{2018}", "\u{2019}"),
    ]
}
