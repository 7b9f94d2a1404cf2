/// How near to its end a status is.
package enum StatusRank: Int, Hashable, Sendable, Comparable {
    /// The customer, or the bank, still has something to do.
    case pending
    /// That is done, and more will follow: a source to be charged, an intent to be captured.
    case leftPending
    /// Nothing more is to be expected, though it might come: a reusable source that is chargeable.
    case steady
    /// It cannot change any more.
    case final

    package static func < (lhs: StatusRank, rhs: StatusRank) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}
