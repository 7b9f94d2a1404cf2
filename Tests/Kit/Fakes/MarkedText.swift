/// Special characters of HTML, each in one grapheme with another scalar.
///
/// Swift compares characters by grapheme, so code that searches for a `Character` does not find them. A browser does.
package enum MarkedText {
    /// The five special characters of HTML.
    package static let specials: [Unicode.Scalar] = ["&", "<", ">", "\"", "'"]

    /// Every scalar that joins another scalar in a grapheme.
    ///
    /// These are marks, and format characters such as joiners, tags and number signs.
    package static let joining: [Unicode.Scalar] = (0...0x10FFFF as ClosedRange<UInt32>)
        .compactMap { Unicode.Scalar($0) }
        .filter { scalar in
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .spacingMark, .enclosingMark, .format: true
            default: false
            }
        }

    /// Returns a special character between each of those scalars and another one.
    package static func around(_ special: Unicode.Scalar) -> String {
        var text = String.UnicodeScalarView()
        for scalar in joining { text += [scalar, special, scalar] }
        return String(text)
    }

    /// Returns whether a text has one of the special characters as a browser reads it.
    ///
    /// The ampersand of an escape does not count.
    package static func isMarkup(_ html: String) -> Bool {
        html.utf8.contains { "<>\"'".utf8.contains($0) }
            || html.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
                .dropFirst().contains { rest in
                    !["amp;", "lt;", "gt;", "quot;", "#39;"].contains { rest.starts(with: $0.utf8) }
                }
    }
}
