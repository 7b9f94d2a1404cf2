import NIOCore
import Poller
import Synchronization

/// One recorded event on its way to everybody in this process who wants it.
///
/// *Problem*: an event may go to thousands of connections, and what each is told differs in nothing
/// but what its credentials may see and what its cursor is good for.
/// *Approach*: the bytes of a message are made once for each ``Wording`` and shared by all frames
/// that say it, on every event loop. A cursor stands for everything the feed has read up to this
/// event, so it is the same for all who are up to date.
/// A class, because all share what has been made.
final class LiveEvent: Sendable {
    /// What one message about an event may differ in from another.
    struct Wording: Hashable, Sendable {
        /// The name of the subscription, on transports that tell it.
        let sub: String?
        /// What the cursor is good for.
        let scope: String
        let view: EventView
        /// Whether the cursor marks the place in the watch's own history.
        let isMarked: Bool
    }

    /// What the cursor of a message hangs on.
    private struct CursorUse: Hashable {
        let scope: String
        let isMarked: Bool
    }

    let event: Poller.Event
    let partition: Int
    /// Where it stands in its partition.
    let position: OutboxPosition
    /// How far the feed has read with it, in every partition.
    let positions: [OutboxPosition]
    /// The same before it.
    var before: [OutboxPosition] {
        var before = positions
        before[partition] = previous
        return before
    }
    private let previous: OutboxPosition
    private let made = Mutex<[Wording: ByteBuffer]>([:])
    private let cursors = Mutex<[CursorUse: String]>([:])

    /// An event that the feed has read; `positions` are how far it has come, and move on to it.
    init(
        _ found: FeedEvent,
        at position: OutboxPosition,
        of positions: inout [OutboxPosition]
    ) {
        event = found.event
        partition = found.partition
        self.position = position
        previous = positions[found.partition]
        positions[found.partition] = position
        self.positions = positions
    }

    /// The bytes of a message, made by the first who asks for them.
    func data(_ wording: Wording, make: () -> String) -> ByteBuffer {
        made.withLock { made in
            if let known = made[wording] { return known }
            let data = ByteBuffer(string: make())
            made[wording] = data
            return data
        }
    }

    /// The cursor of a message: sealed once, and the same whatever else its wording is.
    func cursor(_ wording: Wording, make: () -> String) -> String {
        let use = CursorUse(scope: wording.scope, isMarked: wording.isMarked)
        return cursors.withLock { cursors in
            if let known = cursors[use] { return known }
            let cursor = make()
            cursors[use] = cursor
            return cursor
        }
    }
}
