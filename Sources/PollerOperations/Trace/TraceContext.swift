import PollerIdentity

/// A position in a trace: the trace ID, and the span that is the cause.
///
/// *Shape*: a `traceparent` of W3C Trace Context, `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`: version,
/// 16 bytes of trace, 8 of span, flags. A watch stores the 25 bytes after the version, as 34 characters of base64url.
/// *Source*: <https://www.w3.org/TR/trace-context-2/#traceparent-header>
///
/// An invalid value is ignored and never an error: it only concerns the caller's diagnosis, and a payment must not be
/// rejected for that. A `tracestate` is not stored, which the standard allows: it is for vendors' own needs, may have
/// 512 bytes, and a watch would keep it for weeks.
package struct TraceContext: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64
    private let span: UInt64
    /// The flags: bit 0 means that the caller records the trace, bit 1 that its ID is random.
    package let flags: UInt8

    private static let sampledFlag: UInt8 = 1
    /// The flags that are known; others are not passed on.
    private static let knownFlags: UInt8 = 3
    private static let length = 55
    private static let packedBytes = 25

    /// Creates a context; `nil` if the trace or the span is all zeros, which is not a valid ID.
    package init?(trace: (high: UInt64, low: UInt64), span: UInt64, flags: UInt8) {
        guard trace.high | trace.low != 0, span != 0 else { return nil }
        high = trace.high
        low = trace.low
        self.span = span
        self.flags = flags & Self.knownFlags
    }

    /// Parses a `traceparent`; `nil` for a value that the standard defines as invalid.
    ///
    /// In a value of a later version the parts of this version are read, and anything after a further dash is ignored.
    package init?(traceparent text: String) {
        let bytes = Array(text.utf8.prefix(Self.length + 1))
        guard bytes.count >= Self.length, let version = Self.number(bytes[0..<2]), version != 0xFF,
            [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let span = Self.number(bytes[36..<52]), let flags = Self.number(bytes[53..<55])
        else { return nil }
        if bytes.count > Self.length, version == 0 || bytes[Self.length] != UInt8(ascii: "-") {
            return nil
        }
        self.init(trace: (high, low), span: span, flags: UInt8(truncatingIfNeeded: flags))
    }

    /// Parses ``packed``; `nil` for any other text.
    package init?(packed text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.packedBytes else {
            return nil
        }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].reduce(0) { $0 << 8 | UInt64(truncatingIfNeeded: $1) }
        }
        // Safe, because the number of bytes was checked above.
        self.init(trace: (number(0..<8), number(8..<16)), span: number(16..<24), flags: bytes[24])
    }

    /// The wire form.
    package var traceparent: String {
        "00-\(traceID)-\(spanID)-\(Self.hex(UInt64(truncatingIfNeeded: flags), digits: 2))"
    }

    /// The stored form: letters, digits, `-` and `_`.
    package var packed: String { Base64URL.encode(traceBytes + spanBytes + [flags]) }

    /// The trace ID, 32 hexadecimal digits.
    package var traceID: String { Self.hex(high, digits: 16) + Self.hex(low, digits: 16) }
    /// The span ID, 16 hexadecimal digits.
    package var spanID: String { Self.hex(span, digits: 16) }

    /// The trace ID, 16 bytes.
    package var traceBytes: [UInt8] { Self.bytes(high) + Self.bytes(low) }
    /// The span ID, 8 bytes.
    package var spanBytes: [UInt8] { Self.bytes(span) }

    /// Whether the caller records the trace; otherwise it is not recorded here either.
    package var isSampled: Bool { flags & Self.sampledFlag != 0 }

    /// Returns another span of the same trace; `nil` for the invalid ID 0.
    package func child(span: UInt64) -> TraceContext? {
        TraceContext(trace: (high, low), span: span, flags: flags)
    }

    /// Parses lower-case digits only, because an upper-case digit makes a `traceparent` invalid.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                number = number << 4 | UInt64(truncatingIfNeeded: digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                number =
                    number << 4 | UInt64(truncatingIfNeeded: digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }

    private static func hex(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}

extension TraceContext: CustomStringConvertible {
    /// The ``traceparent``.
    package var description: String { traceparent }
}
