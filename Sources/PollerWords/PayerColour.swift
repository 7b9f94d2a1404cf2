import Foundation

/// A shop's colour, where words stand on it.
package enum PayerColour {
    /// The colour of text that can be read on `colour`, `#rrggbb`.
    ///
    /// White wherever its contrast is 4.5 : 1 (WCAG 2.2, 1.4.3), black on what is lighter.
    package static func ink(on colour: String) -> String {
        1.05 / (luminance(of: colour) + 0.05) >= 4.5 ? "#ffffff" : "#000000"
    }

    /// How light a colour is, from 0 to 1.
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
