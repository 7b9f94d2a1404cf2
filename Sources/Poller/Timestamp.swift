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
