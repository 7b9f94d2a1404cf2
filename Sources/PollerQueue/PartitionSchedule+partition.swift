import PollerIdentity

// What a ``PartitionSchedule`` knows of each partition.
extension PartitionSchedule {
    /// What is known about one partition since its last claim.
    struct Partition: Sendable {
        /// Whether an exchange with it is under way, and what that asked for.
        enum State: Sendable {
            case idle
            /// Its results are on their way and nothing is asked for.
            case sending
            /// A claim is on its way; `isWoken` since it began, so its answer may not know the
            /// news yet.
            case claiming(isWoken: Bool)
        }

        var state = State.idle
        var occasion = Occasion.due
        /// When the next claim must begin.
        var claimBy: Instant
        /// From when on it may go with others.
        var claimFrom: Instant
        /// How many processes stand nearer to it; none: it is ours.
        var rank = 0
        var hasLostClaims = false
        /// When the last claim that was answered was made, by the store's clock.
        var answeredAt: Timestamp?
        /// When an item that somebody holds was marked last.
        var markedAt: Instant?
        /// Others go first until then.
        var leftUntil: Instant?
        /// When the results that somebody waits for must go; nil when none waits.
        var sendBy: Instant?
        /// The same for results that nobody waits for.
        var tickBy: Instant?

        var isIdle: Bool { if case .idle = state { true } else { false } }

        /// Others stand nearer, and we have found nothing to help them with.
        var onlyLooksIn: Bool {
            guard rank > PartitionShare.helpers else { return false }
            if case .insurance = occasion { return true }
            return false
        }

        /// The longest it goes without a claim of ours; those who look in have up to `lookIn`.
        func insurance(lookIn: Duration) -> Duration {
            rank <= PartitionShare.helpers
                ? PartitionSchedule.insurance : min(.seconds(rank), lookIn)
        }

        /// Plans the next claim.
        mutating func plan(_ occasion: Occasion, from: Instant, by: Instant) {
            self.occasion = occasion
            (claimFrom, claimBy) = (from, by)
        }

        /// Whether it must go now, with all that may go with it.
        func opensTick(_ now: Instant, canClaim: Bool) -> Bool {
            guard isIdle else { return false }
            if let tickBy, tickBy <= now { return true }
            return canClaim && occasion.isRoutine && claimBy <= now
        }

        /// Whether it goes now.
        func goes(_ now: Instant, canClaim: Bool, isTick: Bool) -> Bool {
            guard isIdle else { return false }
            if let sendBy, sendBy <= now { return true }
            if canClaim, (isTick ? claimFrom : claimBy) <= now { return true }
            return isTick && (tickBy != nil || sendBy != nil)
        }
    }
}
