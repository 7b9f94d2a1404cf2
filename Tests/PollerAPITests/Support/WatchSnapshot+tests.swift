import PollerIdentity
import PollerWatches

extension WatchSnapshot {
    /// Creates a snapshot without recipients and metadata.
    init(
        _ watch: Watch,
        closed: ClosedReason? = nil,
        nextPollAt: Timestamp? = nil,
        lastError: String? = nil,
        lastEvent: Event? = nil
    ) {
        self.init(
            watch: watch,
            closed: closed,
            nextPollAt: nextPollAt,
            lastError: lastError,
            notify: [],
            metadata: "",
            lastEvent: lastEvent
        )
    }
}
