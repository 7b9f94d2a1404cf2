package import PollerIdentity
package import PollerPayments

/// The state of one watch at one moment.
package struct WatchSnapshot: Hashable, Sendable {
    package let watch: Watch
    /// The close reason; `nil` while the watch is open.
    package let closed: ClosedReason?
    /// The time of the next poll; `nil` once closed, and while a worker holds the watch.
    package let nextPollAt: Timestamp?
    /// The error of the last poll; `nil` if the poll was answered.
    package let lastError: String?
    package let notify: [NotifyURL]
    /// The metadata: a JSON object, or empty.
    package let metadata: String
    /// The newest event, whose `object` is the last observed object.
    package let lastEvent: Event?

    /// Creates a snapshot from the fields of a store.
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

extension WatchSnapshot {
    /// The known state of the payment; `nil` when there is none.
    package var payment: Payment? {
        // The log of a refundable payment is deleted before the watch is.
        lastEvent?.payment ?? (watch.key.kind.isOfPayments ? watch.reportedPayment : nil)
    }
}
