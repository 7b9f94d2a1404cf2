import PollerHints
import PollerIdentity
package import PollerQueue
package import PollerWatches

/// The expected traffic of an account: the sources per month, their lifetime, and the source of hints.
package struct PlannedTraffic: Hashable, Sendable {
    /// The source of hints about changes.
    package enum Hints: String, Hashable, Sendable, CaseIterable {
        /// None: only polls find changes.
        case none = "polling"
        /// The account's event sweep.
        case sweep
        /// The event sweep, and Stripe's webhooks, of which some are lost.
        case sweepAndWebhooks = "sweep+webhooks"
    }

    /// The sources that begin in thirty days.
    package var sourcesPerMonth: Int
    /// The time for which a source may stay pending; each changes at a uniformly distributed moment of it.
    package var life: Duration
    package var policy: PollPolicy
    /// The source of hints.
    package var hints: Hints
    package var lane: LaneLimit
    /// A fixed pause between sweeps; `nil` for that of the read budget.
    package var sweepInterval: Duration?
    /// The average delay of a webhook; each takes between half and one and a half of it.
    package var webhookDelay: Duration
    /// The share of lost webhooks.
    package var webhookLoss: Double

    /// Creates the traffic of an account.
    package init(
        sourcesPerMonth: Int,
        life: Duration,
        policy: PollPolicy? = nil,
        hints: Hints,
        lane: LaneLimit = .stripe,
        sweepInterval: Duration? = nil,
        webhookDelay: Duration = .seconds(2),
        webhookLoss: Double = 0.01
    ) {
        self.sourcesPerMonth = sourcesPerMonth
        self.life = life
        // A long lifetime suggests the patient policy, by the spans of the policies.
        self.policy = policy ?? (life <= PollPolicy.standard.span ? .standard : .patient)
        self.hints = hints
        self.lane = lane
        self.sweepInterval = sweepInterval
        self.webhookDelay = webhookDelay
        self.webhookLoss = webhookLoss
    }

    /// The interval between sweeps of the account by its budget, as in `EventSweep`; `nil` without a sweep.
    ///
    /// It ignores the shorter interval of an account that was paid within a day, which uses up the rest of small
    /// budgets.
    package var effectiveSweepInterval: Duration? {
        guard hints != .none else { return nil }
        return sweepInterval ?? ReadBudget.sweepInterval(allowed)
    }

    /// Whether polls may wait for the sweep, by the rule of `EventSweep`.
    var isSwept: Bool {
        effectiveSweepInterval.map { $0 <= ReadBudget.sweepIntervalMax } ?? false
    }

    /// The usage of thirty days of these sources without any reads.
    var allowed: ReadUsage { ReadUsage(reads: 0, transactions: sourcesPerMonth) }

    /// The sources that begin per second.
    var beginningsPerSecond: Double { Double(sourcesPerMonth) / Self.month.inSeconds }

    /// The period of read allowances.
    package static let month = Duration.seconds(30 * 86_400)
}

/// A queue of items by due time, earliest first; a binary heap.
struct PlannedQueue {
    /// An item and the number of its entry: an older entry of the same item is void.
    struct Entry: Hashable {
        let due: Int64
        let item: Int
        let number: Int32
    }

    private var entries: [Entry] = []

    var first: Entry? { entries.first }

    mutating func push(_ entry: Entry) {
        entries.append(entry)
        var index = entries.count - 1
        while index > 0, entries[index].due < entries[(index - 1) / 2].due {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func pop() -> Entry? {
        guard let first = entries.first, let last = entries.popLast() else { return nil }
        guard !entries.isEmpty else { return first }
        // Safe: the queue is not empty.
        entries[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < entries.count && entries[child].due < entries[least].due {
                least = child
            }
            guard least != index else { return first }
            entries.swapAt(index, least)
            index = least
        }
    }
}
