import PollerIdentity

/// Where something stands in a trace: which trace it belongs to, and which span of that has caused it.
///
/// *Shape*: a `traceparent` of W3C Trace Context, `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`:
/// version, 16 bytes of trace, 8 of span, flags. With a watch the 25 bytes after the version are kept,
/// as 34 characters of base64url.
/// *Source*: <https://www.w3.org/TR/trace-context-2/#traceparent-header>
///
/// What is no such thing is ignored and never an error: it is about the caller's diagnosis, and a payment
/// is not refused for that. A `tracestate` is not kept, which the standard allows: it is for vendors'
/// own needs, may have 512 bytes, and a watch would carry it for weeks.
package struct TraceContext: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64
    private let span: UInt64
    /// Bit 0 says that the caller records the trace, bit 1 that its id is random.
    package let flags: UInt8

    private static let sampledFlag: UInt8 = 1
    /// The flags that are known; others are not passed on.
    private static let knownFlags: UInt8 = 3
    private static let length = 55
    private static let packedBytes = 25

    /// A place in a trace; nil where the trace or the span would be all zeros, which no id may be.
    package init?(trace: (high: UInt64, low: UInt64), span: UInt64, flags: UInt8) {
        guard trace.high | trace.low != 0, span != 0 else { return nil }
        high = trace.high
        low = trace.low
        self.span = span
        self.flags = flags & Self.knownFlags
    }

    /// Reads a `traceparent`; nil for anything that the standard calls invalid.
    ///
    /// Of a version that is not known yet the parts of this one are read, whatever follows behind a dash.
    package init?(traceparent text: some StringProtocol) {
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

    /// Reads what ``packed`` has written; nil for anything else.
    package init?(packed text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.packedBytes else {
            return nil
        }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].reduce(0) { $0 << 8 | UInt64(truncatingIfNeeded: $1) }
        }
        // Safe: the count of bytes is checked above.
        self.init(trace: (number(0..<8), number(8..<16)), span: number(16..<24), flags: bytes[24])
    }

    /// As it goes over the wire.
    package var traceparent: String {
        "00-\(traceID)-\(spanID)-\(Self.hex(UInt64(truncatingIfNeeded: flags), digits: 2))"
    }

    /// As a store keeps it: letters, digits, `-` and `_`.
    package var packed: String { Base64URL.encode(traceBytes + spanBytes + [flags]) }

    /// The trace, 32 hexadecimal digits.
    package var traceID: String { Self.hex(high, digits: 16) + Self.hex(low, digits: 16) }
    /// The span, 16 hexadecimal digits.
    package var spanID: String { Self.hex(span, digits: 16) }

    /// The trace, 16 bytes.
    package var traceBytes: [UInt8] { Self.bytes(high) + Self.bytes(low) }
    /// The span, 8 bytes.
    package var spanBytes: [UInt8] { Self.bytes(span) }

    /// Whether the caller records the trace; what is not recorded there is not recorded here.
    package var isSampled: Bool { flags & Self.sampledFlag != 0 }

    /// Another span of the same trace; nil for the id that none may have, 0.
    package func child(span: UInt64) -> TraceContext? {
        TraceContext(trace: (high, low), span: span, flags: flags)
    }

    /// Lower case alone: an upper-case digit makes a `traceparent` invalid.
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
