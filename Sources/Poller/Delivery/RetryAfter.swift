/// Reads a `Retry-After` header (RFC 9110 §10.2.3): seconds, or an HTTP-date.
package enum RetryAfter {
    /// More is treated as this much: whoever asks for longer is asked again in between.
    package static let longest = Duration.seconds(3600)

    /// The wait that is asked for, within 0 s and ``longest``; nil when nobody can tell.
    package static func parse(_ text: String, now: Timestamp) -> Duration? {
        let text = text.drop { $0 == " " }.prefix { $0 != ";" }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text
        if !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard !text.hasPrefix("-") else { return .zero }
            // More digits than an Int holds are simply very long.
            return Int64(digits).map { min(.seconds(min($0, 86_400)), longest) } ?? longest
        }
        guard let date = date(text) else { return nil }
        return min(max(date - now, .zero), longest)
    }

    /// The three forms RFC 9110 §5.6.7 obliges a recipient to read.
    private static func date(_ text: some StringProtocol) -> Timestamp? {
        guard text.utf8.count <= 40 else { return nil }
        let words = text.split { $0 == " " || $0 == "," || $0 == ":" || $0 == "-" }
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        func field(_ index: Int, in range: ClosedRange<Int>) -> Int? {
            guard words[index].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let value = Int(words[index]), range.contains(value)
            else { return nil }
            return value
        }
        guard words.count == 7 || words.count == 8 else { return nil }
        // `Sun Nov 6 08:49:37 1994` has its month first, the others their day.
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
