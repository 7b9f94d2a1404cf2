/// The beginning of somebody else's text, fit to be stored and shown.
package enum Excerpt {
    /// What an attempt log keeps of an answer: an error's own words come first, and twenty
    /// attempts of each of 100,000 failing deliveries must fit into Redis.
    package static let bytesMax = 1024

    /// At most ``bytesMax`` bytes as text, without what could steer a terminal or a page.
    ///
    /// Control characters other than line break and tab, the separators U+2028 and U+2029, and
    /// characters that turn the direction of writing become U+FFFD, as bytes do that are no UTF-8.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        let decoded = String(decoding: Array(bytes.prefix(bytesMax)), as: UTF8.self)
        var text = String.UnicodeScalarView()
        var size = 0
        for scalar in decoded.unicodeScalars {
            let shown = isSafe(scalar) ? scalar : "\u{FFFD}"
            size += UTF8.width(shown)
            guard size <= bytesMax else { break }
            text.append(shown)
        }
        return String(text)
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: true
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
