import PollerIdentity
package import PollerQueue

/// What an account is to expect: how many sources a month, how long they live, and who tells of
/// their changes.
package struct PlannedTraffic: Hashable, Sendable {
    /// Who tells the cluster that something has changed.
    package enum Hints: String, Hashable, Sendable, CaseIterable {
        /// Nobody: polls alone find out.
        case none = "polling"
        /// The account's event sweep.
        case sweep
        /// The event sweep, and Stripe's webhooks, of which some are lost.
        case sweepAndWebhooks = "sweep+webhooks"
    }

    /// Sources that begin in thirty days.
    package var sourcesPerMonth: Int
    /// How long a source may stay pending; each changes at a moment spread evenly over it.
    package var life: Duration
    /// How they are polled.
    package var policy: PollPolicy
    /// Who tells of changes.
    package var hints: Hints
    /// What the lane allows.
    package var lane: LaneLimit
    /// A fixed pause between sweeps; nil for what the read budget allows.
    package var sweepInterval: Duration?
    /// How long a webhook takes on average; each takes between half and one and a half of it.
    package var webhookDelay: Duration
    /// The share of webhooks that never come.
    package var webhookLoss: Double

    /// Describes an account's traffic.
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
        // What takes days is polled patiently, as the policies' own spans suggest.
        self.policy = policy ?? (life <= PollPolicy.standard.span ? .standard : .patient)
        self.hints = hints
        self.lane = lane
        self.sweepInterval = sweepInterval
        self.webhookDelay = webhookDelay
        self.webhookLoss = webhookLoss
    }

    /// The interval between sweeps of the account by its budget, as in ``EventSweep``; nil without a sweep.
    ///
    /// It ignores the shorter interval of an account that was paid within a day, which uses up the rest of small
    /// budgets.
    package var effectiveSweepInterval: Duration? {
        guard hints != .none else { return nil }
        return sweepInterval ?? ReadBudget.sweepInterval(allowed)
    }

    /// Whether polls may wait for the sweep, as ``EventSweep`` decides it.
    var isSwept: Bool {
        effectiveSweepInterval.map { $0 <= ReadBudget.sweepIntervalMax } ?? false
    }

    /// Thirty days of these sources, nothing read yet.
    var allowed: ReadUsage { ReadUsage(reads: 0, transactions: sourcesPerMonth) }

    /// Sources begun in a second.
    var beginningsPerSecond: Double { Double(sourcesPerMonth) / Self.month.inSeconds }

    /// What read allowances are counted over.
    package static let month = Duration.seconds(30 * 86_400)
}

/// Items by the time they are due, earliest first; a binary heap.
struct PlannedQueue {
    /// An item, and which of its turns this is: an older turn of the same item is void.
    struct Turn: Hashable {
        let due: Int64
        let item: Int
        let number: Int32
    }

    private var turns: [Turn] = []

    var first: Turn? { turns.first }

    mutating func push(_ turn: Turn) {
        turns.append(turn)
        var index = turns.count - 1
        while index > 0, turns[index].due < turns[(index - 1) / 2].due {
            turns.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func pop() -> Turn? {
        guard let first = turns.first, let last = turns.popLast() else { return nil }
        guard !turns.isEmpty else { return first }
        // Safe: the queue is not empty.
        turns[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < turns.count && turns[child].due < turns[least].due {
                least = child
            }
            guard least != index else { return first }
            turns.swapAt(index, least)
            index = least
        }
    }
}
