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
