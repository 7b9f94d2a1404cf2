import PollerIdentity

// The state of each partition in a ``PartitionSchedule``.
extension PartitionSchedule {
    /// The state of one partition since its last claim.
    struct Partition: Sendable {
        /// The exchange in transit, if any.
        enum State: Sendable {
            case idle
            /// Results are in transit, without a claim.
            case sending
            /// A claim is in transit; `isWoken` if a wake arrived since it began, which its answer may not include.
            case claiming(isWoken: Bool)
        }

        var state = State.idle
        var occasion = Occasion.due
        /// The latest start of the next claim.
        var claimBy: Instant
        /// The time from which the next claim may join other exchanges.
        var claimFrom: Instant
        /// The number of nearer processes; 0 for an owned partition.
        var rank = 0
        var hasLostClaims = false
        /// The store's time of the last answered claim.
        var answeredAt: Timestamp?
        /// The last time that a leased item was marked.
        var markedAt: Instant?
        /// The time until which other processes go first.
        var deferredUntil: Instant?
        /// The deadline of the results that are waited for; `nil` without any.
        var sendBy: Instant?
        /// The deadline of the results that are not waited for; `nil` without any.
        var tickBy: Instant?

        var isIdle: Bool { if case .idle = state { true } else { false } }

        /// Whether other processes are nearer and this one has found no work to help with.
        var isOnlyChecked: Bool {
            guard rank > PartitionAssignment.helpers else { return false }
            if case .safetyCheck = occasion { return true }
            return false
        }

        /// Returns the longest time without a claim of this process; for distant partitions up to `checkInterval`.
        func safetyInterval(checkInterval: Duration) -> Duration {
            rank <= PartitionAssignment.helpers
                ? PartitionSchedule.safetyInterval : min(.seconds(rank), checkInterval)
        }

        /// Plans the next claim.
        mutating func plan(_ occasion: Occasion, from: Instant, by: Instant) {
            self.occasion = occasion
            (claimFrom, claimBy) = (from, by)
        }

        /// Whether the partition starts a tick now, which other exchanges may join.
        func startsTick(_ now: Instant, canClaim: Bool) -> Bool {
            guard isIdle else { return false }
            if let tickBy, tickBy <= now { return true }
            return canClaim && occasion.isRoutine && claimBy <= now
        }

        /// Whether the partition has an exchange now.
        func needsExchange(_ now: Instant, canClaim: Bool, isTick: Bool) -> Bool {
            guard isIdle else { return false }
            if let sendBy, sendBy <= now { return true }
            if canClaim, (isTick ? claimFrom : claimBy) <= now { return true }
            return isTick && (tickBy != nil || sendBy != nil)
        }
    }
}
