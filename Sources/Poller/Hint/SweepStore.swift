package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// What the sweeps of accounts' event lists remember, what came in by webhook, and what was read.
///
/// One item an account; every operation is atomic.
package protocol SweepStore: Sendable {
    /// Takes the account's sweep for `span`, when it is due and nobody else has it.
    ///
    /// A sweep whose span has passed belongs to a dead process and is taken over.
    ///
    /// `pace` is the current interval between sweeps of the account. A sweep that has read everything is due after
    /// `pace` if that is shorter than the interval it ended with; `nil` keeps the latter. An interval after a failure
    /// stays as it is.
    func take(
        _ account: AccountID,
        owner: OwnerID,
        for span: Duration,
        pace: Duration?
    ) async throws(StoreError) -> SweepTurn

    /// Notes how far a sweep has come, and gives it back until `pause` has passed.
    ///
    /// Returns the events that were reported as unseen earlier, longer ago than a webhook may
    /// take, and that no webhook has brought: they were missed. Nil when the sweep had been taken
    /// over, and nothing is noted.
    func finish(
        _ progress: SweepProgress,
        of account: AccountID,
        owner: OwnerID,
        pause: Duration
    ) async throws(StoreError) -> Int?

    /// Which of these marks are set: one answer for each.
    func isMarked(_ marks: [String], of account: AccountID) async throws(StoreError) -> [Bool]

    /// Sets marks, each for its own span.
    func mark(
        _ marks: [(name: String, span: Duration)],
        of account: AccountID
    ) async throws(StoreError)

    /// Adds to what was read from an account today, and tells the sum of thirty days.
    ///
    /// The store keeps for a day that the account was paid (``ReadUsage/isPaid``).
    func addReads(_ usage: ReadUsage, of account: AccountID) async throws(StoreError) -> ReadUsage

    /// The state of an account's sweep, for operators; `nil` when no process has ever taken it.
    func standing(of account: AccountID) async throws(StoreError) -> SweepStanding?
}

extension SweepStore {
    /// Takes the account's sweep for `span`, when the interval of its last step has passed.
    package func take(
        _ account: AccountID,
        owner: OwnerID,
        for span: Duration
    ) async throws(StoreError) -> SweepTurn {
        try await take(account, owner: owner, for: span, pace: nil)
    }
}

/// The state of the sweep of an account's list of events, for operators.
package struct SweepStanding: Hashable, Sendable {
    /// The time at which it last had read every event; `nil` when it never has.
    package let caughtUpAt: Timestamp?
    /// The interval after its last step; `nil` before the first has ended.
    package let pause: Duration?

    /// Creates it from stored fields.
    package init(caughtUpAt: Timestamp?, pause: Duration?) {
        self.caughtUpAt = caughtUpAt
        self.pause = pause
    }

    /// How far it is behind its own interval; `nil` when it has never read everything.
    package func delay(at now: Timestamp) -> Duration? {
        caughtUpAt.map { max(.zero, now - $0 - (pause ?? .zero)) }
    }
}

/// How an account's sweep stands, and whether it is ours now.
package struct SweepTurn: Hashable, Sendable {
    /// Ours until the span ends.
    package let isOurs: Bool
    /// How far it has come.
    package let cursor: SweepCursor
    /// When it last had seen every event; nil when it never has.
    package let caughtUpAt: Timestamp?
    /// Whether what was listed before is to be read again (``SweepStep``).
    package let isRereadDue: Bool
    /// The store's clock.
    package let now: Timestamp

    /// Puts a turn together, as a store does.
    package init(
        isOurs: Bool,
        cursor: SweepCursor,
        caughtUpAt: Timestamp?,
        isRereadDue: Bool = true,
        now: Timestamp
    ) {
        self.isOurs = isOurs
        self.cursor = cursor
        self.caughtUpAt = caughtUpAt
        self.isRereadDue = isRereadDue
        self.now = now
    }
}

/// How far a sweep has come in an account's events.
package enum SweepCursor: Hashable, Sendable {
    /// It has never looked.
    case start
    /// It began at this time and has seen no event yet.
    case since(Timestamp)
    /// This event is the last one it has seen.
    case after(String)
}

/// What one sweep did.
package struct SweepProgress: Hashable, Sendable {
    package let cursor: SweepCursor
    /// Nothing newer was there.
    package let isCaughtUp: Bool
    /// Events that no webhook had brought yet, when webhooks are expected.
    package let unseen: [String]
    /// How long nothing is to be read again; nil leaves that as it was.
    package let rereadPause: Duration?

    /// Describes what one sweep did.
    package init(
        cursor: SweepCursor,
        isCaughtUp: Bool,
        unseen: [String],
        rereadPause: Duration? = nil
    ) {
        self.cursor = cursor
        self.isCaughtUp = isCaughtUp
        self.unseen = unseen
        self.rereadPause = rereadPause
    }
}

/// Reads from an account and the transactions they were for.
package struct ReadUsage: Hashable, Sendable {
    package var reads: Int
    /// Watches that were looked at for the first time.
    package var transactions: Int
    /// Whether money has arrived in the account within a day (``paidSpan``).
    package var isPaid: Bool

    /// How long a payment counts as recent: most refunds of a shop's mistakes come on the day of the payment.
    package static let paidSpan = Duration.seconds(86_400)

    /// Creates a usage.
    package init(reads: Int, transactions: Int, isPaid: Bool = false) {
        self.reads = reads
        self.transactions = transactions
        self.isPaid = isPaid
    }

    /// What Stripe allows for so many transactions in thirty days: 500 reads each, and never less
    /// than 10,000 a month (<https://docs.stripe.com/rate-limits>).
    package var allowance: Int { max(10_000, transactions.multipliedSaturating(by: 500)) }

    /// The share of the allowance that is used; above 1 it is exceeded.
    package var used: Double { Double(reads) / Double(allowance) }
}
