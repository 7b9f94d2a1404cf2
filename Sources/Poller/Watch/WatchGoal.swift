/// How far a watch follows its source before it ends.
///
/// | goal | single-use source | reusable source | intent |
/// |---|---|---|---|
/// | `left_pending` | any status but `pending` | the same | `requires_capture` or an end |
/// | `settled` | `consumed`, `canceled`, `failed` | also `chargeable`, where it stays | `succeeded`, `canceled` |
/// | `final` | the same | the same; `chargeable` goes on to the deadline | the same |
///
/// An order to charge comes first: such a watch does not end before the bank has answered.
package enum WatchGoal: String, Hashable, Sendable, CaseIterable {
    /// The customer has done what had to be done: what the SDKs' poller of sources waits for.
    case leftPending = "left_pending"
    /// Nothing more is to be expected: a final status, or the one in which a reusable source stays.
    case settled
    /// A status that can never change any more.
    case final

    /// The farther of two goals: nobody who joins a watch is told less than was asked for.
    package func farther(_ other: WatchGoal) -> WatchGoal {
        distance < other.distance ? other : self
    }

    /// Whether a status of this rank is what the watch was there for.
    package func isMet(by rank: StatusRank) -> Bool { rank >= needed }

    private var needed: StatusRank {
        switch self {
        case .leftPending: .leftPending
        case .settled: .steady
        case .final: .final
        }
    }

    private var distance: Int { needed.rawValue }

    /// Finds a goal by its name.
    package init(named name: String) throws(InvalidInput) {
        guard let goal = WatchGoal(rawValue: name) else {
            let all = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput(field: "until", message: "must be one of \(all)")
        }
        self = goal
    }
}
