import SafeNumbers

/// Normalises the notation of numbers in a JSON document.
enum JSONNumber {
    /// The maximum number of digits; no amount has more.
    private static let digitsMax = 40

    /// Returns the same number without an exponent and without trailing zeros in its fraction.
    ///
    /// `1.099e3` and `1099.0` become `1099`, and `109.90e-1` becomes `10.99`. The result is exact, because only the
    /// point moves.
    /// - Returns: `nil` if the text is not a JSON number (RFC 8259 §6) or has more than 40 digits.
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
        // The position of the point, counted from the left; missing digits on either side are zeros.
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
