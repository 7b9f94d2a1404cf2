package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// The state of the event sweeps, the marks of webhooks, and the read counts of accounts.
///
/// There is one item per account, and every operation is atomic.
package protocol SweepStore: Sendable {
    /// Leases the account's sweep for `span`, if it is due and no other process has it.
    ///
    /// A sweep whose lease has ended belongs to a dead process and is taken over.
    ///
    /// `pace` is the current interval between sweeps of the account. A sweep that has read everything is due after
    /// `pace` if that is shorter than the interval it ended with; `nil` keeps the latter. An interval after a failure
    /// stays as it is.
    func take(
        _ account: AccountID,
        owner: OwnerID,
        for span: Duration,
        pace: Duration?
    ) async throws(StoreError) -> SweepLease

    /// Stores the progress of a sweep, and releases it until `pause` has passed.
    ///
    /// Returns the number of missed events: they were reported as unseen longer ago than a webhook may take, and no
    /// webhook has delivered them. `nil` when the sweep had been taken over; nothing is stored then.
    func finish(
        _ progress: SweepProgress,
        of account: AccountID,
        owner: OwnerID,
        pause: Duration
    ) async throws(StoreError) -> Int?

    /// Returns whether each mark is set.
    func isMarked(_ marks: [String], of account: AccountID) async throws(StoreError) -> [Bool]

    /// Sets marks, each with its own lifetime.
    func mark(
        _ marks: [(name: String, span: Duration)],
        of account: AccountID
    ) async throws(StoreError)

    /// Adds today's reads of an account, and returns the sum of thirty days.
    ///
    /// The store keeps for a day that the account was paid (``ReadUsage/isPaid``).
    func addReads(_ usage: ReadUsage, of account: AccountID) async throws(StoreError) -> ReadUsage

    /// Returns the state of an account's sweep, for operators; `nil` when no process has ever taken it.
    func sweepStatus(of account: AccountID) async throws(StoreError) -> SweepStatus?
}

extension SweepStore {
    /// Leases the account's sweep for `span`, if the interval of its last step has passed.
    package func take(
        _ account: AccountID,
        owner: OwnerID,
        for span: Duration
    ) async throws(StoreError) -> SweepLease {
        try await take(account, owner: owner, for: span, pace: nil)
    }
}

/// The state of the sweep of an account's event list, for operators.
package struct SweepStatus: Hashable, Sendable {
    /// The time at which it last had read every event; `nil` when it never has.
    package let caughtUpAt: Timestamp?
    /// The interval after its last step; `nil` before the first has ended.
    package let pause: Duration?

    /// Creates a value from stored fields.
    package init(caughtUpAt: Timestamp?, pause: Duration?) {
        self.caughtUpAt = caughtUpAt
        self.pause = pause
    }

    /// Returns the delay beyond its own interval; `nil` when it has never read everything.
    package func delay(at now: Timestamp) -> Duration? {
        caughtUpAt.map { max(.zero, now - $0 - (pause ?? .zero)) }
    }
}

/// The state of an account's sweep, and whether this process has leased it.
package struct SweepLease: Hashable, Sendable {
    /// Whether this process holds the lease, until the span ends.
    package let isOwner: Bool
    /// The position of the sweep.
    package let cursor: SweepCursor
    /// The last time that it had read every event; `nil` when it never has.
    package let caughtUpAt: Timestamp?
    /// Whether the overlap is to be read again (``SweepStep``).
    package let isRereadDue: Bool
    /// The store's time.
    package let now: Timestamp

    /// Creates a value from the fields of a store.
    package init(
        isOwner: Bool,
        cursor: SweepCursor,
        caughtUpAt: Timestamp?,
        isRereadDue: Bool = true,
        now: Timestamp
    ) {
        self.isOwner = isOwner
        self.cursor = cursor
        self.caughtUpAt = caughtUpAt
        self.isRereadDue = isRereadDue
        self.now = now
    }
}

/// The position of a sweep in an account's events.
package enum SweepCursor: Hashable, Sendable {
    /// The sweep has never read anything.
    case start
    /// The sweep began at this time and has found no event yet.
    case since(Timestamp)
    /// This event is the last one that was read.
    case after(String)
}

/// The result of one sweep.
package struct SweepProgress: Hashable, Sendable {
    package let cursor: SweepCursor
    /// Whether everything was read.
    package let isCaughtUp: Bool
    /// The events that no webhook has delivered yet, if webhooks are expected.
    package let unseen: [String]
    /// The time until the next overlap; `nil` keeps the stored one.
    package let rereadPause: Duration?

    /// Creates the result of a sweep.
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

/// The reads of an account and its transactions.
package struct ReadUsage: Hashable, Sendable {
    package var reads: Int
    /// The number of watches with a first poll.
    package var transactions: Int
    /// Whether money has arrived in the account within a day (``paidSpan``).
    package var isPaid: Bool

    /// The time for which a payment counts as recent: most refunds of a shop's mistakes are made on the day of the
    /// payment.
    package static let paidSpan = Duration.seconds(86_400)

    package init(reads: Int, transactions: Int, isPaid: Bool = false) {
        self.reads = reads
        self.transactions = transactions
        self.isPaid = isPaid
    }

    /// The number of reads that Stripe allows in thirty days: 500 per transaction, and at least 10,000 a month
    /// (<https://docs.stripe.com/rate-limits>).
    package var allowance: Int { max(10_000, transactions.multipliedSaturating(by: 500)) }

    /// The used share of the allowance; above 1 it is exceeded.
    package var used: Double { Double(reads) / Double(allowance) }
}
