import PollerIdentity
import PollerPayments
package import PollerQueue

/// Accepts watches, and marks past events for recipients that join a watch late.
///
/// An event is published only to the recipients that the watch had when the event was recorded. When an endpoint joins
/// a watch with events, it is marked here, so delivery starts at once and not at the next change. After a crash between
/// the two steps the caller gets no response and repeats the request.
package struct Enqueuer: Sendable {
    private let watches: any WatchStore
    private let deliveries: any DeliveryMarker
    private let orders: OrderService?

    /// Creates an enqueuer that stores in `watches` and marks in `deliveries`.
    ///
    /// Without `orders`, an order becomes known with the first event of its payments.
    package init(
        watches: any WatchStore,
        deliveries: any DeliveryMarker,
        orders: OrderService? = nil
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.orders = orders
    }

    /// Accepts watches; one result for each, in order.
    ///
    /// With `reading` each result has a snapshot of its watch.
    ///
    /// The script that accepts a watch checks and reads it. Two things are outside its partition, and so take calls of
    /// their own: deliveries of an endpoint that joins a watch with events, and the order.
    package func enqueue(
        _ new: [NewWatch],
        reading: Bool = false
    ) async throws(StoreError) -> [EnqueueResult] {
        let results = try await watches.enqueue(new, reading: reading)
        var marks: [DeliveryMark] = []
        for (watch, result) in zip(new, results)
        where result.outcome == .joined && result.seq > 0 {
            marks += watch.notify.map { DeliveryMark(url: $0, watch: watch.key) }
        }
        if !marks.isEmpty { try await deliveries.mark(marks) }
        try await join(new, results)
        return results
    }

    /// Adds watches to their orders before the first event of their payments.
    ///
    /// A watch that was joined is added with its current payment, and the order reports that.
    private func join(
        _ new: [NewWatch],
        _ results: [EnqueueResult]
    ) async throws(StoreError) {
        guard let orders, new.contains(where: { $0.order != nil }) else { return }
        // Joined watches first: one of them may be paid, and then no other attempt of its order may be charged.
        let accepted = zip(new, results).filter { !$1.outcome.isRefused }
        let joined = accepted.filter { $1.outcome == .joined }
        for (watch, result) in joined + accepted.filter({ $1.outcome != .joined }) {
            guard let name = watch.order else { continue }
            let isJoined = result.outcome == .joined
            let first = Payment(state: watch.key.kind.isOfPayments ? .awaitingCustomer : .unknown)
            let payment = isJoined ? result.payment : nil
            let member = Order.Member(key: watch.key, seq: result.seq, payment: payment ?? first)
            let key = OrderKey(account: watch.key.account, order: name)
            if payment == nil {
                try await orders.join(key, member, isMostlyNew: !isJoined)
            } else {
                try await orders.join(key, member) { () throws(StoreError) in
                    try await lastEvent(of: result)
                }
            }
        }
    }

    /// Returns the last event of an accepted watch.
    private func lastEvent(of result: EnqueueResult) async throws(StoreError) -> Event? {
        if let snapshot = result.snapshot { return snapshot.lastEvent }
        return try await watches.snapshot(of: result.key)?.lastEvent
    }
}
