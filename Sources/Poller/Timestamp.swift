/// A point in time, as the store's clock tells it: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Workers never put their own wall clock into one of these for a due time or a lease: those
/// come from the store (Redis `TIME`), so skewed machines cannot disagree about what is due.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the Unix epoch, UTC.
    package let ms: Int64

    /// Makes a timestamp of milliseconds since the Unix epoch.
    package init(ms: Int64) {
        self.ms = ms
    }

    package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
        lhs.ms < rhs.ms
    }

    /// The instant `duration` later (or earlier, when negative), cut to whole milliseconds.
    package static func + (lhs: Timestamp, rhs: Duration) -> Timestamp {
        Timestamp(ms: lhs.ms + rhs.ms)
    }

    /// The span from `rhs` to `lhs`.
    package static func - (lhs: Timestamp, rhs: Timestamp) -> Duration {
        .milliseconds(lhs.ms - rhs.ms)
    }
}

extension Timestamp: CustomStringConvertible {
    /// RFC 3339, UTC, with milliseconds: `2026-11-20T09:30:00.125Z`.
    package var description: String {
        // Howard Hinnant's civil_from_days (public domain): no Foundation, no locale, no time zone.
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
        let date = "\(Self.pad(year, 4))-\(Self.pad(month, 2))-\(Self.pad(day, 2))"
        let seconds = msOfDay / 1000
        let time =
            "\(Self.pad(seconds / 3600, 2)):\(Self.pad(seconds / 60 % 60, 2)):\(Self.pad(seconds % 60, 2))"
        return "\(date)T\(time).\(Self.pad(msOfDay % 1000, 3))Z"
    }

    private static func floorMod(_ value: Int64, _ modulus: Int64) -> Int64 {
        let remainder = value % modulus
        return remainder < 0 ? remainder + modulus : remainder
    }

    private static func pad(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Timestamp {
    /// Reads back what ``description`` wrote, and nothing else: `2026-11-20T09:30:00.125Z`.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 24, bytes[4] == 45, bytes[7] == 45, bytes[10] == 84,
            bytes[13] == 58, bytes[16] == 58, bytes[19] == 46, bytes[23] == 90
        else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            Int64(String(decoding: bytes[range], as: UTF8.self))
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            let fraction = number(20..<23), (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        // Howard Hinnant's days_from_civil (public domain).
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        ms = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction
        // What is no date (February 30th, 25 o'clock, a sign) reads differently when written.
        guard description == text else { return nil }
    }
}

extension Duration {
    /// The span in whole milliseconds, cut toward zero.
    package var ms: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// The span in seconds.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// Reads a span as users write it: `250ms`, `90s`, `5m`, `36h`, `30d`.
    ///
    /// - Returns: nil when the text is not digits and one of these units, or is 100 years or more.
    package init?(text: some StringProtocol) {
        let units: [(suffix: String, ms: Int64)] = [
            ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        for unit in units where text.hasSuffix(unit.suffix) {
            let digits = text.dropLast(unit.suffix.count)
            guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else {
                continue
            }
            guard let count = Int64(digits) else { return nil }
            let (ms, overflow) = count.multipliedReportingOverflow(by: unit.ms)
            guard !overflow, ms < 3_155_760_000_000 else { return nil }
            self = .milliseconds(ms)
            return
        }
        return nil
    }

    /// The span as users write it, in the largest unit that divides it: `90s`, `5m`, `36h`.
    package var text: String {
        let units: [(String, Int64)] = [
            ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000),
        ]
        for (suffix, size) in units where ms >= size && ms % size == 0 {
            return "\(ms / size)\(suffix)"
        }
        return "\(ms)ms"
    }
}
