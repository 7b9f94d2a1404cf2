import NIOCore
import PollerDeliveries
import PollerWatches
import Synchronization

/// One recorded event on its way to all its subscribers in this process.
///
/// *Problem*: an event may go to thousands of connections. Their messages differ only by the view of the credentials
/// and the scope of the cursor.
///
/// *Approach*: the bytes of a message are made once per ``Wording``, and all equal frames share them, on every event
/// loop. A cursor covers everything the feed has read up to this event, so it is the same for all up-to-date
/// subscriptions.
///
/// It is a class because all of them share the bytes.
final class LiveEvent: Sendable {
    /// The parts in which two messages about an event may differ.
    struct Wording: Hashable, Sendable {
        /// The name of the subscription, on transports that send it.
        let sub: String?
        /// The scope of the cursor.
        let scope: String
        let view: EventView
        /// Whether the cursor marks the position in the watch's log.
        let isMarked: Bool
    }

    /// The parts that determine the cursor of a message.
    private struct CursorUse: Hashable {
        let scope: String
        let isMarked: Bool
    }

    let event: PollerWatches.Event
    let partition: Int
    /// The position in its partition.
    let position: OutboxPosition
    /// The feed's position after this event, in every partition.
    let positions: [OutboxPosition]
    /// The feed's position before this event.
    var before: [OutboxPosition] {
        var before = positions
        before[partition] = previous
        return before
    }
    private let previous: OutboxPosition
    private let made = Mutex<[Wording: ByteBuffer]>([:])
    private let cursors = Mutex<[CursorUse: String]>([:])

    /// Creates an event that the feed has read, and advances `positions` to it.
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

    /// Returns the bytes of a message, made at the first request.
    func data(_ wording: Wording, make: () -> String) -> ByteBuffer {
        made.withLock { made in
            if let known = made[wording] { return known }
            let data = ByteBuffer(string: make())
            made[wording] = data
            return data
        }
    }

    /// Returns the cursor of a message.
    ///
    /// It is sealed once, for all wordings with the same scope and mark.
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
