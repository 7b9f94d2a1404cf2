import Metrics

/// What a loop counts.
struct LeaseWorkerMetrics: Sendable {
    /// A claim that only the insurance made and that found something this late means that a wake
    /// was lost.
    private static var wakeMissedAfter: Duration { .milliseconds(100) }

    private let claims: Counter
    private let visits: Counter
    private let leasesLost: Counter
    private let recovered: Counter
    private let wakesMissed: Counter

    /// Counters with the loop's name as label.
    init(loop: String) {
        func counter(_ name: String) -> Counter {
            Counter(label: "poller_\(name)_total", dimensions: [("loop", loop)])
        }
        claims = counter("claims")
        visits = counter("visits")
        leasesLost = counter("leases_lost")
        recovered = counter("leases_recovered")
        wakesMissed = counter("wakes_missed")
    }

    /// Counts a visit; `late` is how long the first item of its claim had been ready.
    func count<Queue: LeaseQueue>(
        _ outcome: PartitionVisitor<Queue>.Outcome,
        _ plan: Exchange,
        late: Duration?,
        lost: Int
    ) {
        visits.increment()
        if lost > 0 { leasesLost.increment(by: lost) }
        guard let claim = outcome.claim else { return }
        claims.increment()
        if claim.recovered > 0 { recovered.increment(by: claim.recovered) }
        if plan.isInsurance, let late, late > Self.wakeMissedAfter { wakesMissed.increment() }
    }
}
