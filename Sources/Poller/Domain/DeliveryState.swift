/// How far a delivery has come.
package struct DeliveryState: Hashable, Sendable {
    /// Events remembered as given up; one that is pushed out by newer ones is still in the log of
    /// its watch, but no longer sent again by a retry.
    package static let deadMax = 20

    /// The `seq` of the last event that was accepted or given up; the next one is to be sent.
    package var cursor: Int
    /// Failed attempts of the event in hand: the first of ``again``, or the one after the cursor.
    package var failures: Int
    /// Attempts ever made.
    package var attempts: Int
    /// When the schedule has the next attempt after a failure.
    ///
    /// One made earlier, because something new was recorded, uses nothing of the schedule when it
    /// fails too.
    package var retryAt: Timestamp?
    /// When the event in hand failed first; nil while it has not.
    package var failedSince: Timestamp?
    /// The newest event of which the fallback endpoint was told.
    package var escalated: Int
    /// Events given up, oldest first, at most ``deadMax``.
    package private(set) var dead: [Int]
    /// What is sent before anything new, whatever the endpoint asked for: of the events given up
    /// those somebody wants sent again, and at a fallback those another endpoint did not accept.
    package private(set) var again: [Int]

    /// A state; by default that of a delivery nobody has tried.
    package init(
        cursor: Int = 0,
        failures: Int = 0,
        attempts: Int = 0,
        retryAt: Timestamp? = nil,
        failedSince: Timestamp? = nil,
        escalated: Int = 0,
        dead: [Int] = [],
        again: [Int] = []
    ) {
        self.cursor = cursor
        self.failures = failures
        self.attempts = attempts
        self.retryAt = retryAt
        self.failedSince = failedSince
        self.escalated = escalated
        self.dead = Array(dead.suffix(Self.deadMax))
        self.again = Array(again.suffix(Self.deadMax))
    }

    /// The event was accepted, or there is nothing left of it to send.
    package mutating func settle(_ seq: Int) {
        end(seq)
        dead.removeAll { $0 == seq }
    }

    /// The event will not be tried again by itself.
    package mutating func giveUp(_ seq: Int) {
        end(seq)
        dead.removeAll { $0 == seq }
        dead = Array((dead + [seq]).sorted().suffix(Self.deadMax))
    }

    /// Events given up, or (not nil) those of them that are named, are to be sent again, on a
    /// schedule that begins anew.
    package mutating func revive(_ seqs: Set<Int>? = nil) {
        let wanted = dead.filter { seqs?.contains($0) ?? true }
        guard !Set(wanted).isSubset(of: again) else { return }
        again = dead.filter { again.contains($0) || wanted.contains($0) }
        begin()
    }

    /// Everything after `seq` is to be told anew, whether it was accepted or not.
    package mutating func rewind(to seq: Int) {
        guard seq < cursor else { return }
        cursor = max(seq, 0)
        escalated = min(escalated, cursor)
        dead.removeAll { $0 > cursor }
        again.removeAll { $0 > cursor }
        begin()
    }

    private mutating func end(_ seq: Int) {
        if again.contains(seq) {
            again.removeAll { $0 == seq }
        } else {
            cursor = max(cursor, seq)
        }
        begin()
    }

    private mutating func begin() {
        failures = 0
        retryAt = nil
        failedSince = nil
    }
}
