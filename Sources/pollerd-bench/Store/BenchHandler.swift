import Histogram
import JSONText
import NIOCore
import Poller
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerWatches
import Synchronization

/// The handler of a measured worker.
///
/// It polls each watch forever at one pace and records how late each poll was.
///
/// The engine is the real one, from claim to commit. Only the decision differs, so that the load stays as planned. The
/// latency from commit to subscriber is measured by event id: sent here and received here, both by the clock of this
/// process.
final class BenchHandler: ItemHandler {
    /// Returns the wait from a poll to the next one.
    typealias Pace = @Sendable (Watch) -> Duration

    /// The records since the last ``restart()``.
    struct Tally {
        var polls = 0
        var failures = 0
        var lagUs = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        var publishUs = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        var starts: [ContinuousClock.Instant] = []
        var sent: [String: ContinuousClock.Instant] = [:]
    }

    /// The member of an event's object with its creation time, in ns of the machine's uptime.
    static let stamp = "made_at_ns"

    let tally = Mutex(Tally())
    private let upstream: any Upstream
    private let pace: Pace
    /// Every n-th poll records an event.
    ///
    /// 0 records none.
    private let eventEvery: Int
    /// Selects the watches with recorded lag and start times.
    private let isCounted: @Sendable (Watch) -> Bool
    /// Whether events contain their creation time, because their subscribers may be in another process.
    private let stamps: Bool

    init(
        upstream: any Upstream = NoUpstream(),
        eventEvery: Int = 0,
        counting isCounted: @escaping @Sendable (Watch) -> Bool = { _ in true },
        stamping stamps: Bool = false,
        pace: @escaping Pace
    ) {
        self.upstream = upstream
        self.eventEvery = eventEvery
        self.isCounted = isCounted
        self.stamps = stamps
        self.pace = pace
    }

    /// Returns a pace of one poll per `span`, with a random first wait.
    ///
    /// All watches are enqueued at once, while real ones are spread.
    static func spread(over span: Duration) -> Pace {
        { watch in
            watch.state.attempts == 0 ? .milliseconds(Int64.random(in: 0...span.ms)) : span
        }
    }

    /// Records that an event of this worker was received.
    func recordReceived(_ event: String) {
        tally.withLock { tally in
            guard let sent = tally.sent.removeValue(forKey: event) else { return }
            _ = tally.publishUs.record(UInt64(sent.duration(to: .now) / .microseconds(1)))
        }
    }

    /// Clears the records.
    func restart() {
        tally.withLock { tally in
            let sent = tally.sent
            tally = Tally()
            tally.sent = sent
        }
    }

    private static var stamped: RawJSON {
        RawJSON(unchecked: #"{"\#(stamp)":\#(NIODeadline.now().uptimeNanoseconds)}"#)
    }

    func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
        let watch = leased.item
        let polledAt = leased.now
        let lag = polledAt - max(leased.lease.due, leased.lease.startsAt)
        let started = ContinuousClock.now
        let result = await upstream.poll(watch, timeout: .seconds(8))
        var isAnswered = false
        if case .observed = result { isAnswered = true }
        var state = watch.state
        state.attempts += 1
        let number = tally.withLock { tally in
            tally.polls += 1
            if !isAnswered { tally.failures += 1 }
            if isCounted(watch) {
                tally.lagUs.record(UInt64(max(lag.ms, 0) * 1000))
                tally.starts.append(started)
            }
            return tally.polls
        }
        var event: Event?
        if eventEvery > 0, number % eventEvery == 0 {
            let status = SourceStatus(unchecked: watch.seq % 2 == 0 ? "pending" : "waiting")
            let newEvent = Event(
                watch: watch,
                status: status,
                final: false,
                object: stamps ? Self.stamped : nil,
                polledAt: polledAt,
                lag: lag
            )
            state.status = status
            event = newEvent
            if !stamps { tally.withLock { $0.sent[newEvent.id.description] = .now } }
        }
        return Decision(
            verdict: .next(after: pace(watch)),
            change: WatchChange(state: state, event: event),
            commitsAtOnce: event != nil
        )
    }
}

/// An upstream that responds at once, without any cost.
struct NoUpstream: Upstream {
    /// The time that a response takes.
    var delay = Duration.zero

    func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        if delay > .zero { try? await Task.sleep(for: delay) }
        let status = SourceStatus(unchecked: "pending")
        return .observed(Observation(status: status, final: false, object: nil))
    }
}
