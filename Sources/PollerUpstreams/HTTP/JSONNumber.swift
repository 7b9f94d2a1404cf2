import SafeNumbers

/// How a number of a JSON document is written.
enum JSONNumber {
    /// More digits than any amount has.
    private static let digitsMax = 40

    /// The same number without an exponent and without zeros at the end of its fraction: `1.099e3` and `1099.0` are
    /// `1099`, `109.90e-1` is `10.99`.
    ///
    /// Exact: the digits are moved, nothing is rounded.
    /// - Returns: `nil` for a text that is no JSON number (RFC 8259 §6), and for one of more than 40 digits.
    static func plain(_ text: String) -> String? {
        let parts = text.split(separator: "e", omittingEmptySubsequences: false)
        let mantissa =
            parts.count == 1 ? text.split(separator: "E", omittingEmptySubsequences: false) : parts
        guard let significand = mantissa.first, mantissa.count <= 2 else { return nil }
        let isNegative = significand.hasPrefix("-")
        let sides = significand.dropFirst(isNegative ? 1 : 0)
            .split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(sides.count), let whole = sides.first,
            sides.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isDigit) })
        else { return nil }
        var exponent = 0
        if mantissa.count == 2 {
            let written = mantissa[1].hasPrefix("+") ? mantissa[1].dropFirst() : mantissa[1][...]
            guard let number = Int(safe: written), number.magnitude <= digitsMax else { return nil }
            exponent = number
        }
        let fraction = sides.count == 2 ? sides[1] : ""
        var digits = Array((whole + fraction).utf8)
        // Where the point is, counted from the left; digits that are missing on either side are zeros.
        var point = whole.utf8.count + exponent
        guard digits.count <= digitsMax else { return nil }
        if point <= 0 {
            digits.insert(contentsOf: repeatElement(UInt8(ascii: "0"), count: 1 - point), at: 0)
            point = 1
        }
        while digits.count < point { digits.append(UInt8(ascii: "0")) }
        while digits.count > point, digits.last == UInt8(ascii: "0") { digits.removeLast() }
        let left = digits[..<point].drop { $0 == UInt8(ascii: "0") }
        let sign = isNegative ? "-" : ""
        let number = left.isEmpty ? "0" : String(decoding: left, as: UTF8.self)
        guard digits.count > point else { return sign + number }
        return "\(sign)\(number)." + String(decoding: digits[point...], as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
