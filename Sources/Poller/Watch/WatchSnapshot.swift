/// Everything a reader may want to know about one watch at one moment.
package struct WatchSnapshot: Hashable, Sendable {
    package let watch: Watch
    /// Nil while the watch is open.
    package let closed: ClosedReason?
    /// When it is looked at next; nil once closed, and while a worker holds it.
    package let nextPollAt: Timestamp?
    /// Why the last poll failed; nil after one that was answered.
    package let lastError: String?
    package let notify: [NotifyURL]
    /// A JSON object, or empty.
    package let metadata: String
    /// The newest event, whose `object` is the last object seen.
    package let lastEvent: Event?

    /// Puts a snapshot together, as a store does.
    package init(
        watch: Watch,
        closed: ClosedReason?,
        nextPollAt: Timestamp?,
        lastError: String?,
        notify: [NotifyURL],
        metadata: String,
        lastEvent: Event?
    ) {
        self.watch = watch
        self.closed = closed
        self.nextPollAt = nextPollAt
        self.lastError = lastError
        self.notify = notify
        self.metadata = metadata
        self.lastEvent = lastEvent
    }
}
