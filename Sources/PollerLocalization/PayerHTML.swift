import Foundation

/// The text colour for a shop's brand colour.
package enum PayerColour {
    /// Returns the text colour for the background `colour`, in the form `#rrggbb`.
    ///
    /// It is white when the contrast is at least 4.5 : 1 (WCAG 2.2, 1.4.3), otherwise black.
    package static func ink(on colour: String) -> String {
        1.05 / (luminance(of: colour) + 0.05) >= 4.5 ? "#ffffff" : "#000000"
    }

    /// The relative luminance of a colour, from 0 to 1.
    ///
    /// *Source*: WCAG 2.2, "relative luminance".
    private static func luminance(of colour: String) -> Double {
        let value = Int(colour.dropFirst(), radix: 16) ?? 0
        func light(_ part: Int) -> Double {
            let share = Double(part & 255) / 255
            return share <= 0.03928 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * light(value >> 16) + 0.7152 * light(value >> 8) + 0.0722 * light(value)
    }
}

/// Escapes text for HTML.
///
/// Browsers parse code points, so the escaper must too. A Swift `Character` is a grapheme cluster: a quote followed by
/// a combining accent is one `Character` that does not equal a quote, so an escaper that compares characters would miss
/// it. All five special characters are ASCII, so comparing bytes is sufficient.
package enum HTMLText {
    /// Escapes text for element content and quoted attributes.
    package static func escaped(_ text: String) -> String {
        var html: [UInt8] = []
        html.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): html += "&amp;".utf8
            case UInt8(ascii: "<"): html += "&lt;".utf8
            case UInt8(ascii: ">"): html += "&gt;".utf8
            case UInt8(ascii: "\""): html += "&quot;".utf8
            case UInt8(ascii: "'"): html += "&#39;".utf8
            default: html.append(byte)
            }
        }
        return String(decoding: html, as: UTF8.self)
    }
}
