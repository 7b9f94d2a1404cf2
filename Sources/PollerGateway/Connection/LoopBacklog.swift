import PollerDeliveries
import Synchronization

/// The events that are posted to one event loop and not yet processed, and the feed's position.
///
/// The feed posts nothing to a loop without interested subscriptions, so the loop reads the feed's position here.
final class LoopBacklog: Sendable {
    /// The maximum of pending events: four seconds at 1,000 a second.
    static let eventsMax = 4096
    /// The maximum of pending subscription numbers over all events: 8 MiB.
    static let subscribersMax = 1 << 20

    /// The state behind the lock.
    private struct State: Sendable {
        var pending = 0
        var subscribers = 0
        /// Whether something did not fit.
        var hasMissed = false
        var end: [OutboxPosition]
        var hasBegun = false
    }

    private let state: Mutex<State>

    /// Creates an empty backlog.
    init(from start: [OutboxPosition]) {
        state = Mutex(State(end: start))
    }

    /// Reserves room for a number of events and returns whether to post them.
    ///
    /// With them the feed has read up to `end`.
    ///
    /// `subscribers` is the number of recipients over all events. A batch that is alone may have any number.
    func post(_ count: Int, subscribers: Int = 0, readTo end: [OutboxPosition]) -> Bool {
        state.withLock { state in
            // After a gap nothing is delivered until the subscriptions have read the missed events.
            guard !state.hasMissed else { return false }
            let isRoom =
                state.pending + count <= Self.eventsMax
                && (state.pending == 0 || state.subscribers + subscribers <= Self.subscribersMax)
            guard isRoom else {
                state.hasMissed = true
                return false
            }
            state.pending += count
            state.subscribers += subscribers
            state.end = end
            return count > 0
        }
    }

    /// Removes processed events and returns whether the loop has missed later ones and must read them.
    func take(_ count: Int, subscribers: Int = 0) -> Bool {
        state.withLock { state in
            state.pending -= count
            state.subscribers -= subscribers
            guard state.pending == 0, state.hasMissed else { return false }
            // Events posted from now on come after the read that begins now.
            state.hasMissed = false
            return true
        }
    }

    /// Sets the positions at which the feed begins.
    func setStart(at positions: [OutboxPosition]) {
        state.withLock { state in state.end = zip(state.end, positions).map { max($0, $1) } }
    }

    /// The loop has processed the feed's beginning, so it needs no notice of events without subscribers.
    func begun() {
        state.withLock { $0.hasBegun = true }
    }

    /// The feed's position if the loop has processed everything, otherwise `nil`.
    var processedPositions: [OutboxPosition]? {
        state.withLock { state in
            state.hasBegun && state.pending == 0 && !state.hasMissed ? state.end : nil
        }
    }
}
