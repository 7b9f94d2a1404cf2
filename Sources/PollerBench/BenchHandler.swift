import Histogram
import Poller
import Synchronization

/// A worker's hand that polls for ever at one pace and records how late each poll was.
final class BenchHandler: Reconciling {
    /// What is recorded while ``isCounting``.
    struct Tally {
        var polls = 0
        var failures = 0
        var lagUs = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        var sent: [String: ContinuousClock.Instant] = [:]
    }

    let tally = Mutex(Tally())
    private let upstream: (any Upstream)?
    private let interval: Duration
    /// Every n-th poll records an event; 0 records none.
    private let eventEvery: Int

    init(upstream: (any Upstream)?, interval: Duration, eventEvery: Int = 0) {
        self.upstream = upstream
        self.interval = interval
        self.eventEvery = eventEvery
    }

    func reconcile(_ held: Held<Watch>) async -> Reconciled<WatchChange>? {
        let watch = held.item
        let polledAt = held.now
        let lag = polledAt - held.lease.due
        var isAnswered = true
        if let upstream {
            let result = await upstream.poll(watch, timeout: .seconds(8))
            if case .observed = result {} else { isAnswered = false }
        }
        var state = watch.state
        state.attempts += 1
        var event: Event?
        let number = tally.withLock { tally in
            tally.polls += 1
            return tally.polls
        }
        if eventEvery > 0, number % eventEvery == 0 {
            let status = SourceStatus(unchecked: watch.seq % 2 == 0 ? "pending" : "waiting")
            event = Event(
                watch: watch,
                status: status,
                final: false,
                object: nil,
                polledAt: polledAt,
                lag: lag
            )
            state.status = status
        }
        tally.withLock { tally in
            tally.failures += isAnswered ? 0 : 1
            tally.lagUs.record(UInt64(max(lag.ms, 0) * 1000))
            if let event { tally.sent[event.id.description] = .now }
        }
        // All are enqueued at once: the first wait spreads them over the interval, as real ones are.
        let isFirst = watch.state.attempts == 0
        let wait = isFirst ? .milliseconds(Int64.random(in: 0...max(interval.ms, 0))) : interval
        return Reconciled(
            verdict: .next(after: wait),
            change: WatchChange(state: state, event: event)
        )
    }
}
