import NIOCore
import PollerDeliveries
import PollerWatches
import Synchronization

/// One recorded event on its way to all its subscribers in this process.
///
/// *Problem*: an event may go to thousands of connections. Their messages differ only by the view of the credentials
/// and the scope of the cursor.
///
/// *Approach*: the bytes of a message are made once per ``MessageVariant``, and all equal frames share them, on every
/// event loop. A cursor covers everything the feed has read up to this event, so it is the same for all up-to-date
/// subscriptions.
final class LiveEvent: Sendable {
    /// The parts in which two messages about an event may differ.
    struct MessageVariant: Hashable, Sendable {
        /// The name of the subscription, on transports that send it.
        let sub: String?
        /// The scope of the cursor.
        let scope: String
        let view: EventView
        /// Whether the cursor marks the position in the watch's log.
        let isMarked: Bool
    }

    /// The parts that determine the cursor of a message.
    private struct CursorVariant: Hashable {
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
    private let made = Mutex<[MessageVariant: ByteBuffer]>([:])
    private let cursors = Mutex<[CursorVariant: String]>([:])

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
    func data(_ variant: MessageVariant, make: () -> String) -> ByteBuffer {
        made.withLock { made in
            if let known = made[variant] { return known }
            let data = ByteBuffer(string: make())
            made[variant] = data
            return data
        }
    }

    /// Returns the cursor of a message.
    ///
    /// It is sealed once, for all variants with the same scope and mark.
    func cursor(_ variant: MessageVariant, make: () -> String) -> String {
        let shared = CursorVariant(scope: variant.scope, isMarked: variant.isMarked)
        return cursors.withLock { cursors in
            if let known = cursors[shared] { return known }
            let cursor = make()
            cursors[shared] = cursor
            return cursor
        }
    }
}
