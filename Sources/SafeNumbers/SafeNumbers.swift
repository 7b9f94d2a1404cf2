// Swift traps when an integer overflows, and a trap ends the process. A stored number that traps
// ends the process again at each start. Numbers from outside (upstreams, webhooks, clients, Redis,
// files) therefore become integers only through the initialisers below and the labelled ones of the
// standard library: `exactly:` and `clamping:`. Values used in arithmetic are bounded first, by
// ``SafeInteger`` or by a dedicated type.
//
// All are inlinable, because a generic initialiser that is not specialised takes 400 ns instead of 10, and a
// poll calls dozens of them.

/// The whole numbers that every JSON reader represents exactly, including Lua scripts and
/// JavaScript.
///
/// Sums and products of a few of them fit `Int` without overflow. *Source*: RFC 8259 §6.
@usableFromInline
package enum SafeInteger {
    /// 2^53 − 1.
    @usableFromInline
    package static let max = 9_007_199_254_740_991
    /// −(2^53 − 1).
    @usableFromInline
    package static let min = -max

    /// Returns the nearest valid count: 0 to ``max``, so that further counting cannot overflow.
    @inlinable
    package static func count(_ number: Int) -> Int { Swift.min(Swift.max(number, 0), max) }
}

extension Int {
    /// The same number; `nil` outside ``SafeInteger``.
    @inlinable
    package init?(safe number: some BinaryInteger) {
        guard let number = Int(exactly: number), number >= SafeInteger.min,
            number <= SafeInteger.max
        else { return nil }
        self = number
    }

    /// The number that decimal digits with an optional sign spell; `nil` outside ``SafeInteger``.
    @inlinable
    package init?(safe digits: some StringProtocol) {
        guard let number = Int(decimal: digits) else { return nil }
        self.init(safe: number)
    }

    /// The number that bytes of decimal digits with an optional sign spell; `nil` outside ``SafeInteger``.
    ///
    /// Sixteen bytes hold every number inside it, but zeros may precede them. Those texts take the slower way.
    @inlinable
    package init?(safe bytes: ArraySlice<UInt8>) {
        guard bytes.count <= 16, let first = bytes.first else {
            self.init(safe: String(decoding: bytes, as: UTF8.self))
            return
        }
        let isSigned = first == UInt8(ascii: "-") || first == UInt8(ascii: "+")
        let digits = isSigned ? bytes.dropFirst() : bytes
        var number = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            number = number &* 10 &+ Int(truncatingIfNeeded: byte &- UInt8(ascii: "0"))
        }
        guard !digits.isEmpty else { return nil }
        self.init(safe: first == UInt8(ascii: "-") ? -number : number)
    }

    /// The nearest number inside ``SafeInteger``.
    @inlinable
    package init(clampingSafe number: some BinaryInteger) {
        self = Swift.min(Swift.max(Int(clamping: number), SafeInteger.min), SafeInteger.max)
    }
}

extension Int64 {
    /// The number that decimal digits with an optional sign spell; `nil` outside ``SafeInteger``.
    @inlinable
    package init?(safe digits: some StringProtocol) {
        guard let number = Int(safe: digits) else { return nil }
        self.init(clamping: number)
    }
}

extension FixedWidthInteger {
    /// The number that decimal digits with an optional sign spell; `nil` for any other text.
    @inlinable
    package init?(decimal digits: some StringProtocol) {
        self.init(digits, radix: 10)
    }

    /// The nearest representable whole number, cut toward zero; 0 for NaN.
    @inlinable
    package init(saturating number: Double) {
        if let exact = Self(exactly: number.rounded(.towardZero)) {
            self = exact
        } else {
            self = number.isNaN ? 0 : number < 0 ? .min : .max
        }
    }

    /// The sum; the nearest representable number when it overflows.
    @inlinable
    package func addingSaturating(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference; the nearest representable number when it overflows.
    @inlinable
    package func subtractingSaturating(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// The product; the nearest representable number when it overflows.
    @inlinable
    package func multipliedSaturating(by other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}
