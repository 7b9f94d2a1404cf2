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

    /// How often the account is swept, as ``EventSweep`` would; nil without a sweep.
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
    static let month = Duration.seconds(30 * 86_400)
}
