import SafeNumbers

/// A sum of money in the smallest unit of its currency, such as cents.
///
/// *Limits*: ±(2^53 − 1), the whole numbers that JSON carries exactly (RFC 8259 §6); the largest amount that
/// Stripe charges has twelve digits (<https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts>).
/// A number from outside becomes an amount through a failable initialiser, so a larger one is "not known"
/// instead of a wrong sum. Arithmetic stops at the limits and cannot overflow.
package struct Amount: Hashable, Comparable, Sendable {
    /// The amount of no money.
    package static let zero = Amount(clamping: 0)
    /// The largest amount.
    package static let max = Amount(clamping: SafeInteger.max)

    /// The number of smallest units.
    package let minorUnits: Int

    /// Creates an amount from outside; `nil` beyond the limits.
    package init?(_ minorUnits: some BinaryInteger) {
        guard let number = Int(safe: minorUnits) else { return nil }
        self.minorUnits = number
    }

    /// Creates an amount from outside that is at least zero; `nil` for any other number.
    package init?(nonNegative minorUnits: some BinaryInteger) {
        guard let number = Int(safe: minorUnits), number >= 0 else { return nil }
        self.minorUnits = number
    }

    /// Creates an amount from outside that is at least one unit; `nil` for any other number.
    package init?(positive minorUnits: some BinaryInteger) {
        guard let number = Int(safe: minorUnits), number > 0 else { return nil }
        self.minorUnits = number
    }

    /// Parses decimal digits with an optional sign; `nil` for another text or beyond the limits.
    package init?(decimal digits: some StringProtocol) {
        guard let number = Int(safe: digits) else { return nil }
        minorUnits = number
    }

    /// Creates the nearest amount within the limits.
    package init(clamping minorUnits: some BinaryInteger) {
        self.minorUnits = Int(clampingSafe: minorUnits)
    }

    package static func < (lhs: Amount, rhs: Amount) -> Bool { lhs.minorUnits < rhs.minorUnits }

    /// Returns the sum, clamped to the limits.
    package static func + (lhs: Amount, rhs: Amount) -> Amount {
        // The operands have 53 bits, so the sum does not overflow.
        Amount(clamping: lhs.minorUnits + rhs.minorUnits)
    }

    /// Returns the difference, clamped to the limits.
    package static func - (lhs: Amount, rhs: Amount) -> Amount {
        Amount(clamping: lhs.minorUnits - rhs.minorUnits)
    }

    /// Adds an amount, clamped to the limits.
    package static func += (lhs: inout Amount, rhs: Amount) { lhs = lhs + rhs }
}

extension Amount: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int) { self.init(clamping: value) }
}

extension Amount: Codable {
    /// Reads a whole number; one beyond the limits is an error.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let amount = Amount(try container.decode(Int.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "the amount is beyond \(Amount.max)"
            )
        }
        self = amount
    }

    /// Writes a whole number.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(minorUnits)
    }
}

extension Amount: CustomStringConvertible {
    /// The number of smallest units in decimal digits.
    package var description: String { String(minorUnits) }
}
