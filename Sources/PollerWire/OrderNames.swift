/// What an order may be called, as a pattern: 1–255 printable characters, no space at either end.
package enum OrderNames {
    /// Characters that nobody would see: controls, line ends, marks of direction and of width zero.
    private static let invisible =
        #"\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"#
        + #"\ufeff\ufff9-\ufffb"#
    private static let spaces = #"\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"#

    /// A path cannot have `.` and `..` as a segment.
    package static let pattern =
        "^(?!\\.{1,2}$)[^\(invisible)\(spaces)]([^\(invisible)]{0,253}[^\(invisible)\(spaces)])?$"
}

/// Names for people, as a pattern: one line of printable characters, no space at either end.
package enum LineText {
    /// Control characters, line breaks, and marks that change the direction of the text.
    private static let hidden = #"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"#

    /// Further invisible characters: format characters (Unicode's category Cf) and those of private use (Co), as far as
    /// four digits can express them.
    private static let unseen =
        #"\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2060-\u206f\ue000-\uf8ff"#
        + #"\ufeff\ufff9-\ufffb"#

    /// The pattern of a line of 1 to `lengthMax` characters.
    package static func pattern(_ lengthMax: Int) -> String {
        pattern(lengthMax, without: hidden)
    }

    /// The pattern of a name of 1 to `lengthMax` characters, all of them visible.
    package static func name(_ lengthMax: Int) -> String {
        pattern(lengthMax, without: hidden + unseen)
    }

    private static func pattern(_ lengthMax: Int, without left: String) -> String {
        "^[^\\s\(left)]([^\(left)]{0,\(lengthMax - 2)}[^\\s\(left)])?$"
    }
}
