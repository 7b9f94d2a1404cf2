/// The pattern of order IDs: 1–255 printable characters, without a space at either end.
package enum OrderNames {
    /// Invisible characters: control characters, line ends, direction marks and zero-width characters.
    private static let invisible =
        #"\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"#
        + #"\ufeff\ufff9-\ufffb"#
    private static let spaces = #"\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"#

    /// Excludes `.` and `..`, which are not allowed as a path segment.
    package static let pattern =
        "^(?!\\.{1,2}$)[^\(invisible)\(spaces)]([^\(invisible)]{0,253}[^\(invisible)\(spaces)])?$"
}

/// The pattern of names for people: one line of printable characters, without a space at either end.
package enum LineText {
    /// Control characters, line breaks, and marks that change the text direction.
    private static let hidden = #"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"#

    /// Further invisible characters that four hexadecimal digits can express.
    ///
    /// They are format characters (Unicode category Cf) and private-use characters (Co).
    private static let unseen =
        #"\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2060-\u206f\ue000-\uf8ff"#
        + #"\ufeff\ufff9-\ufffb"#

    /// Returns the pattern of a line of 1 to `lengthMax` characters.
    package static func pattern(_ lengthMax: Int) -> String {
        pattern(lengthMax, without: hidden)
    }

    /// Returns the pattern of a name of 1 to `lengthMax` visible characters.
    package static func name(_ lengthMax: Int) -> String {
        pattern(lengthMax, without: hidden + unseen)
    }

    private static func pattern(_ lengthMax: Int, without left: String) -> String {
        "^[^\\s\(left)]([^\(left)]{0,\(lengthMax - 2)}[^\\s\(left)])?$"
    }
}
