/// Accepts watches, and lets those who join late know what has happened already.
///
/// The outbox told only the endpoints a watch had when an event was recorded. An endpoint that
/// joins a watch with a history is marked here, so it is told at once and not only at the next
/// change. A crash between the two steps leaves the joiner without an answer: it asks again.
package struct Enqueuer: Sendable {
    private let watches: any WatchStore
    private let deliveries: any DeliveryQueue

    /// Accepts into `watches` and marks in `deliveries`.
    package init(watches: any WatchStore, deliveries: any DeliveryQueue) {
        self.watches = watches
        self.deliveries = deliveries
    }

    /// Accepts watches; one result for each, in order.
    package func enqueue(_ new: [NewWatch]) async throws(StoreError) -> [EnqueueResult] {
        let results = try await watches.enqueue(new)
        var marks: [DeliveryMark] = []
        for (watch, result) in zip(new, results)
        where result.outcome == .joined && result.seq > 0 {
            marks += watch.notify.map { DeliveryMark(url: $0, watch: watch.key) }
        }
        if !marks.isEmpty { try await deliveries.mark(marks) }
        return results
    }
}
