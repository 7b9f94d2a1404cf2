package import Poller

/// How a lane stands, in one word; what holds it up most comes first.
package enum LaneState: String, Hashable, Sendable, CaseIterable {
    /// Stopped by a person until a person resumes it.
    case paused
    /// Its circuit is open: too many attempts in a row got no answer.
    case open
    /// One attempt at a time, to see whether the other side is back.
    case probing
    /// Nothing goes out before an instant the upstream named.
    case held
    /// It goes at a part of its limit after a 429.
    case slowed
    /// As it should be.
    case flowing
}

extension LaneReport {
    /// The lane's state when the store looked.
    package var state: LaneState {
        if isPaused { return .paused }
        switch circuit {
        case .open: return .open
        case .probing: return .probing
        case .closed: break
        }
        if let heldUntil, heldUntil > now { return .held }
        return factor < 1 ? .slowed : .flowing
    }

    /// How long the lane's longest overdue item has been due; zero when none is.
    package var overdueFor: Duration {
        guard overdue > 0, let oldestDue, oldestDue < now else { return .zero }
        return now - oldestDue
    }
}
