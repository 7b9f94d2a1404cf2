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
