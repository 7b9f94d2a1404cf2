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
