import Poller

/// How far a client has been told: a position in every partition of the outbox, and for a
/// subscription to one watch the seq of its last event.
///
/// With the seq a client goes on from the watch's own history, which is one short read and is
/// kept longer than the outbox; without it, or for another watch, the positions count.
struct LiveCursor: Hashable, Sendable {
    /// The place in the history of one watch.
    struct Mark: Hashable, Sendable {
        let watch: ItemID
        /// Everything up to this has been told.
        let seq: Int
    }

    let positions: [OutboxPosition]
    let mark: Mark?

    /// Puts a cursor together.
    init(positions: [OutboxPosition], mark: Mark? = nil) {
        self.positions = positions
        self.mark = mark
    }
}
