package import JSONText
import SafeNumbers

/// An instant: RFC 3339, UTC, with milliseconds, such as `2026-11-20T09:30:00.125Z`.
///
/// *Limits*: the years 0001 to 9999, which RFC 3339 writes with four digits.
public struct Time: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let ms: Int64

    /// 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z.
    private static let msRange: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    /// Creates an instant from milliseconds since the Unix epoch, clamped to the limits.
    public init(ms: Int64) {
        self.ms = min(max(ms, Self.msRange.lowerBound), Self.msRange.upperBound)
    }

    /// Parses the format of ``description`` and no other.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        // Safe: the count is checked first, and `guard` stops at the first condition that fails.
        guard bytes.count == 24, bytes[4] == 45, bytes[7] == 45, bytes[10] == 84,
            bytes[13] == 58, bytes[16] == 58, bytes[19] == 46, bytes[23] == 90
        else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            var number: Int64 = 0
            for byte in bytes[range] {
                guard byte &- 0x30 < 10 else { return nil }
                number = number * 10 + Int64(clamping: byte &- 0x30)
            }
            return number
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            let fraction = number(20..<23), (1...12).contains(month), hour < 24, minute < 60,
            second < 60, (1...Self.days(in: month, of: year)).contains(day)
        else { return nil }
        // Howard Hinnant's days_from_civil (public domain).
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        // At most four digits each: the product fits.
        let exact = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction
        guard Self.msRange.contains(exact) else { return nil }
        ms = exact
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// The instant in RFC 3339 format.
    public var description: String {
        // Howard Hinnant's civil_from_days (public domain), without Foundation, locale or time zone.
        let days = (ms - Self.floorMod(ms, 86_400_000)) / 86_400_000
        let msOfDay = Self.floorMod(ms, 86_400_000)
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthIndex + 2) / 5 + 1
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let seconds = msOfDay / 1000
        var bytes = Self.zero
        // Safe: the format has 24 bytes.
        Self.write(year, 0..<4, to: &bytes)
        Self.write(month, 5..<7, to: &bytes)
        Self.write(day, 8..<10, to: &bytes)
        Self.write(seconds / 3600, 11..<13, to: &bytes)
        Self.write(seconds / 60 % 60, 14..<16, to: &bytes)
        Self.write(seconds % 60, 17..<19, to: &bytes)
        Self.write(msOfDay % 1000, 20..<23, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns whether one instant is before another.
    public static func < (lhs: Time, rhs: Time) -> Bool { lhs.ms < rhs.ms }

    private static func floorMod(_ value: Int64, _ modulus: Int64) -> Int64 {
        let remainder = value % modulus
        return remainder < 0 ? remainder + modulus : remainder
    }

    private static let zero = Array("0000-00-00T00:00:00.000Z".utf8)

    /// Writes a number with leading zeros.
    private static func write(_ number: Int64, _ place: Range<Int>, to bytes: inout [UInt8]) {
        var rest = number
        for index in place.reversed() {
            bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}

extension Time: WireValue {
    package static let schema = Schema.component("Time")

    /// The component that ``schema`` refers to.
    package static let component = Schema([
        ("type", .text("string")), ("format", .text("date-time")),
        ("examples", .texts(["2026-11-20T09:30:00.125Z"])),
        (
            "pattern",
            .text(
                "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$"
            )
        ),
    ])

    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Time {
        guard let time = Time(try String.read(json, location)) else {
            throw location.mustBe("a time such as 2026-11-20T09:30:00.125Z")
        }
        return time
    }

    package func write(to json: inout JSONWriter) { json.value(description) }
}

/// A span with a unit: `250ms`, `90s`, `5m`, `36h` or `30d`, below 100 years.
public struct Span: Hashable, Sendable, CustomStringConvertible {
    private static let units: [(suffix: String, ms: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    /// 100 years of 365.25 days.
    private static let msMax: Int64 = 3_155_760_000_000

    /// The span, in whole milliseconds.
    public let duration: Duration

    /// Creates a span, truncated to whole milliseconds.
    public init(_ duration: Duration) { self.duration = duration }

    /// Parses a span; `nil` if the text is not digits and a unit, or exceeds the limit.
    public init?(_ text: some StringProtocol) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = Self.units.first { $0.suffix == text[digits.endIndex...] }
        guard let unit, let count = Int64(decimal: digits) else { return nil }
        let (ms, overflow) = count.multipliedReportingOverflow(by: unit.ms)
        guard !overflow, ms < Self.msMax else { return nil }
        duration = .milliseconds(ms)
    }

    /// The span in the largest unit that divides it.
    public var description: String {
        let (seconds, attoseconds) = duration.components
        let ms = seconds.multipliedSaturating(by: 1000)
            .addingSaturating(attoseconds / 1_000_000_000_000_000)
        for unit in Self.units where ms >= unit.ms && ms % unit.ms == 0 {
            return "\(ms / unit.ms)\(unit.suffix)"
        }
        return "\(ms)ms"
    }
}

extension Span: WireValue {
    package static let schema = Schema.component("Span")

    /// The component that ``schema`` refers to.
    package static let component = Schema([
        ("type", .text("string")), ("pattern", .text("^[0-9]+(ms|s|m|h|d)$")),
        ("examples", .texts(["90s", "5m", "36h"])),
    ])

    package static func read(_ json: RawJSON, _ location: FieldLocation) throws(WireError) -> Span {
        guard json.kind != .number else {
            throw WireError(
                .wrongType,
                "\(location.name) must be a string with a unit such as \"90s\" or \"5m\", not a number.",
                field: location.name
            )
        }
        guard let span = Span(try String.read(json, location)) else {
            throw location.mustBe("a whole number and a unit, not negative: 90s, 5m, 36h or 7d")
        }
        return span
    }

    package func write(to json: inout JSONWriter) { json.value(description) }
}
