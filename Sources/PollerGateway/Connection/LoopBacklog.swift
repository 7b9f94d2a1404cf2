import Poller
import Synchronization

/// What one event loop has been posted and not taken yet, and how far the feed has read meanwhile.
///
/// Nothing is posted to a loop on which nobody hears what was read; so the loop looks here for how far that
/// is when it needs to know. A class, because the feed posts and the loop takes.
final class LoopBacklog: Sendable {
    /// Events under way: four seconds at 1,000 a second.
    static let eventsMax = 4096
    /// Numbers of those who hear them, all together: 8 MiB.
    static let hearersMax = 1 << 20

    /// What the lock guards.
    private struct State: Sendable {
        var underWay = 0
        var hearers = 0
        /// Whether something has found no place.
        var hasMissed = false
        var end: [OutboxPosition]
        var hasBegun = false
    }

    private let state: Mutex<State>

    /// Nothing under way.
    init(from start: [OutboxPosition]) {
        state = Mutex(State(end: start))
    }

    /// Whether so many events are to be posted; the feed has read up to `end` with them.
    ///
    /// `hearers`: how many hear them, all together. A batch that is alone may have any number.
    func post(_ count: Int, hearers: Int = 0, readTo end: [OutboxPosition]) -> Bool {
        state.withLock { state in
            // Behind what was missed nobody is told anything before they have read that.
            guard !state.hasMissed else { return false }
            let isRoom =
                state.underWay + count <= Self.eventsMax
                && (state.underWay == 0 || state.hearers + hearers <= Self.hearersMax)
            guard isRoom else {
                state.hasMissed = true
                return false
            }
            state.underWay += count
            state.hearers += hearers
            state.end = end
            return count > 0
        }
    }

    /// So many have been taken: whether the loop has missed something behind them, and has to read it.
    func take(_ count: Int, hearers: Int = 0) -> Bool {
        state.withLock { state in
            state.underWay -= count
            state.hearers -= hearers
            guard state.underWay == 0, state.hasMissed else { return false }
            // What is posted from now on comes after the reading back that begins now.
            state.hasMissed = false
            return true
        }
    }

    /// The feed begins at these positions.
    func begins(at positions: [OutboxPosition]) {
        state.withLock { state in state.end = zip(state.end, positions).map { max($0, $1) } }
    }

    /// The loop knows where the feed began: what is read from now on, it need not be told.
    func begun() {
        state.withLock { $0.hasBegun = true }
    }

    /// How far the feed has read, once the loop has taken everything; nil as long as it has not.
    var settled: [OutboxPosition]? {
        state.withLock { state in
            state.hasBegun && state.underWay == 0 && !state.hasMissed ? state.end : nil
        }
    }
}
