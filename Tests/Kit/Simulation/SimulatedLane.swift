import PollerIdentity
import PollerQueue

/// The model of one lane: its settings, and the results of its attempts.
///
/// It is written a second time, deliberately independent of the in-memory store, from the same documentation of the
/// store protocols. A difference between the two reveals a mistake in either.
struct SimulatedLane {
    /// The tolerance for a factor, which stores keep with few digits.
    private static let factorSlack = 0.005

    var ownLimit: LaneLimit? {
        didSet {
            starts = []
            arrivalMs = 0
        }
    }
    var isPaused = false
    private(set) var heldUntil = Timestamp(ms: 0)
    private(set) var failures = 0
    private(set) var lastFailure: LaneFailure?
    private var opens = 0
    private var denials = 0
    private var slowFactor = 1.0
    private var slowUntil = Timestamp(ms: 0)
    /// The latest theoretical arrival time of the next start that a store may assume.
    private var arrivalMs = 0.0
    /// All starts under the current limit.
    private var starts: [Timestamp] = []

    /// Returns the share of the limit at a time.
    func factor(_ now: Timestamp) -> Double {
        if now <= slowUntil { return slowFactor }
        return min(1, slowFactor + Double((now - slowUntil).ms) / 1000 * 0.05)
    }

    /// Returns the most items in flight, and the least at which a store may report a full lane.
    func slots(_ common: LaneLimit, _ now: Timestamp) -> ClosedRange<Int> {
        if failures >= 10 { return 1...1 }
        let most = Double((ownLimit ?? common).inFlightMax)
        // A store may skip a full lane until one of its leases ends, while the factor grows.
        let earlier = factor(Timestamp(ms: now.ms - QueueSimulation.lease.ms))
        let least = earlier < 1 ? Int(most * (earlier - Self.factorSlack)) : Int(most)
        return max(1, least)...max(1, Int(most * min(1, factor(now) + Self.factorSlack)))
    }

    /// Returns a time from which the hold and the rate certainly allow one more start.
    func allows(_ common: LaneLimit) -> Timestamp {
        let limit = ownLimit ?? common
        let tolerance = Double(limit.burst - 1) * Double(limit.intervalUs) / 1000
        return max(heldUntil, Timestamp(ms: Int64((arrivalMs - tolerance).rounded(.up)) + 1))
    }

    /// Counts a start; false if a window now has more starts than rate and burst allow.
    mutating func start(at start: Timestamp, _ common: LaneLimit, _ now: Timestamp) -> Bool {
        let limit = ownLimit ?? common
        guard limit.intervalUs > 0 else { return true }
        let factor = factor(now)
        let charged = factor < 1 ? max(factor - Self.factorSlack, 0.01) : 1
        let interval = Double(limit.intervalUs) / 1000 / charged
        arrivalMs = max(arrivalMs, Double(start.ms)) + interval
        let place = starts.lastIndex { $0 <= start }.map { $0 + 1 } ?? 0
        starts.insert(start, at: place)
        // Only windows that include the new start can have too many now.
        for first in 0...place {
            for last in place..<starts.count {
                let spanUs = (starts[last] - starts[first]).ms * 1000
                let allowed = Int64(limit.burst) + spanUs / Int64(limit.intervalUs)
                if Int64(last - first + 1) > allowed { return false }
            }
        }
        return true
    }

    /// Applies the signals of one batch of commits, in their order.
    mutating func receive(_ signals: [LaneSignal], _ now: Timestamp) {
        var (isShaken, isSilent, isDenied) = (false, false, false)
        for signal in signals {
            switch signal {
            case .fine:
                (failures, opens, denials) = (0, 0, 0)
                lastFailure = nil
                (isShaken, isSilent, isDenied) = (false, false, false)
            case .hold(let span): heldUntil = max(heldUntil, now + span)
            case .slow(let span):
                if now >= slowUntil { slowFactor = max(1.0 / 32, factor(now) / 2) }
                slowUntil = max(slowUntil, now + span)
                heldUntil = max(heldUntil, now + span)
            case .failing, .erring:
                (failures, isShaken, isSilent) = (failures + 1, true, true)
                lastFailure = signal == .failing ? .silent : .erring
            case .denied, .revoked:
                (failures, isShaken, isDenied) = (failures + 1, true, true)
                lastFailure = signal == .denied ? .denied : .revoked
            case .stillFailing: (isShaken, lastFailure) = (true, .denied)
            case .garbled:
                (failures, isShaken, isDenied) = (failures + 1, true, true)
                lastFailure = .erring
            case .stillGarbled: (isShaken, lastFailure) = (true, .erring)
            case .refused(let span):
                lastFailure = .erring
                failures = max(failures, 10)
                heldUntil = max(heldUntil, now + span)
            }
        }
        guard isShaken, failures >= 10, now >= heldUntil else { return }
        if isSilent {
            heldUntil = now + .seconds(min(60, 1 << min(opens, 6)))
            opens += 1
        } else {
            if isDenied { denials += 1 }
            heldUntil = now + .seconds(min(60, 1 << min(max(denials / 16 - 1, 0), 6)))
            opens = 0
        }
    }

    /// Resumes the lane with its state reset; its starts still count.
    mutating func resume() {
        var fresh = SimulatedLane()
        fresh.ownLimit = ownLimit
        fresh.arrivalMs = arrivalMs
        fresh.starts = starts
        self = fresh
    }
}
