package import PollerIdentity
import SafeNumbers

/// The waits between the attempts of one event at one endpoint.
package struct RetrySchedule: Hashable, Sendable {
    /// The wait after the first failure, after the second, …; at most 20 entries.
    package let waits: [Duration]

    /// 13 attempts over 75 h 42 min, for webhooks: longer than a weekend.
    package static let webhook = RetrySchedule(
        waits: [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400, 86_400]
            .map { .seconds($0) }
    )
    /// 10 attempts over 27 h 51 min, for mail relays: past the next working morning.
    package static let email = RetrySchedule(
        waits: [60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200].map { .seconds($0) }
    )

    /// From the first attempt to the last, at the longest.
    package var span: Duration {
        .milliseconds(waits.reduce(.zero, +).ms.multipliedSaturating(by: 12) / 10)
    }

    /// The longest that the wait after the `failures`-th failed attempt can be.
    func longest(failures: Int) -> Duration {
        guard !waits.isEmpty else { return .zero }
        return .milliseconds(
            waits[min(max(failures, 1), waits.count) - 1].ms.multipliedSaturating(by: 12) / 10
        )
    }

    /// Uses these waits.
    package init(waits: [Duration]) {
        self.waits = Array(waits.prefix(20))
    }

    /// The wait after the `failures`-th failed attempt (1 = the first), ±20 % so that receivers
    /// that recover are not met by everybody at once; nil when no attempt is left.
    package func wait(
        failures: Int,
        using chance: inout some RandomNumberGenerator
    ) -> Duration? {
        guard failures >= 1, failures <= waits.count else { return nil }
        let jittered = waits[failures - 1].inSeconds * Double.random(in: 0.8...1.2, using: &chance)
        return .milliseconds(Int64(saturating: jittered * 1000))
    }
}

/// How often and after which waits an endpoint is tried again.
package enum RetryChoice: Hashable, Sendable {
    /// The channel's own schedule.
    case standard
    /// For receivers behind which somebody waits: nine attempts in nine minutes.
    case fast
    /// One attempt.
    case none
    /// An own list of waits.
    case own(RetrySchedule)

    /// The longest an own list may go on, all its waits together.
    package static let spanMax = Duration.seconds(7 * 86_400)
    private static let fastSchedule = RetrySchedule(
        waits: [1, 2, 5, 10, 30, 60, 120, 300].map { .seconds($0) }
    )

    /// Reads the name of a choice: `default`, `fast` or `none`.
    package init(named name: String) throws(InvalidInput) {
        switch name {
        case "default": self = .standard
        case "fast": self = .fast
        case "none": self = .none
        default:
            throw InvalidInput(
                field: "retry",
                message: "must be default, fast, none, or a list of waits such as [\"5s\",\"1m\"]"
            )
        }
    }

    /// Checks an own list of waits: 1 to 20 of at least 1 s, 7 d in all.
    package init(waits: [Duration]) throws(InvalidInput) {
        guard (1...20).contains(waits.count), waits.allSatisfy({ $0 >= .seconds(1) }),
            waits.reduce(.zero, +) <= Self.spanMax
        else {
            throw InvalidInput(
                field: "retry",
                message: "must be 1 to 20 waits of at least 1s, 7d in all"
            )
        }
        self = .own(RetrySchedule(waits: waits))
    }

    /// The waits, where the channel's own are `standard`.
    package func schedule(standard: RetrySchedule) -> RetrySchedule {
        switch self {
        case .standard: standard
        case .fast: Self.fastSchedule
        case .none: RetrySchedule(waits: [])
        case .own(let schedule): schedule
        }
    }

    /// The name of a choice that has one.
    package var name: String? {
        switch self {
        case .standard: "default"
        case .fast: "fast"
        case .none: "none"
        case .own: nil
        }
    }
}

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
            return Int64(decimal: digits).map { min(.seconds(min($0, 86_400)), longest) } ?? longest
        }
        guard let date = date(text) else { return nil }
        return min(max(date - now, .zero), longest)
    }

    /// The three forms RFC 9110 §5.6.7 obliges a recipient to read.
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
