import SafeNumbers

/// A parser for the `Retry-After` header (RFC 9110 §10.2.3): seconds, or an HTTP-date.
package enum RetryAfter {
    /// The longest wait that is obeyed: a recipient that asks for more gets attempts in between.
    package static let longest = Duration.seconds(3600)

    /// Parses the wait, clamped to 0 s … ``longest``; `nil` for an invalid text.
    package static func parse(_ text: String, now: Timestamp) -> Duration? {
        let text = text.drop { $0 == " " }.prefix { $0 != ";" }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text
        if !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard !text.hasPrefix("-") else { return .zero }
            // A number that exceeds an Int is a very long wait.
            return Int64(decimal: digits).map { min(.seconds(min($0, 86_400)), longest) } ?? longest
        }
        guard let date = date(text) else { return nil }
        return min(max(date - now, .zero), longest)
    }

    /// Parses the three date formats that a recipient must accept (RFC 9110 §5.6.7).
    package static func date(_ text: some StringProtocol) -> Timestamp? {
        guard text.utf8.count <= 40 else { return nil }
        let words = text.split { $0 == " " || $0 == "," || $0 == ":" || $0 == "-" }
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        func field(_ index: Int, in range: ClosedRange<Int>) -> Int? {
            guard words[index].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let value = Int(decimal: words[index]), range.contains(value)
            else { return nil }
            return value
        }
        guard words.count == 7 || words.count == 8 else { return nil }
        // `Sun Nov 6 08:49:37 1994` starts with the month, the other formats with the day.
        let isAscTime = words.count == 7
        let time = isAscTime ? 3 : 4
        guard let month = months.firstIndex(of: String(words[isAscTime ? 1 : 2])),
            let day = field(isAscTime ? 2 : 1, in: 1...31),
            var year = field(isAscTime ? 6 : 3, in: 0...9999),
            let hour = field(time, in: 0...23), let minute = field(time + 1, in: 0...59),
            let second = field(time + 2, in: 0...60)
        else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        func pad(_ value: Int, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return Timestamp(
            rfc3339: "\(pad(year, 4))-\(pad(month + 1, 2))-\(pad(day, 2))T"
                + "\(pad(hour, 2)):\(pad(minute, 2)):\(pad(second, 2)).000Z"
        )
    }
}
