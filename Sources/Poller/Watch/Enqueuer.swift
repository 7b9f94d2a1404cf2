package import PollerIdentity
package import PollerQueue

/// A request to watch a source, checked and ready for the store.
package struct NewWatch: Hashable, Sendable, HasWatchOptions {
    /// More endpoints than this on one watch are a mistake; each event costs a delivery to each.
    package static let notifyMax = 16
    /// As many has a watch of all requests that have joined it: one that would bring more is refused.
    package static let notifyKeptMax = 64
    /// Bytes of metadata as JSON: what an order reference needs, with room.
    package static let metadataBytesMax = 4096

    package let key: WatchKey
    package var options: WatchOptions
    /// The span from now to the deadline.
    package let timeout: Duration
    package let notify: [NotifyURL]
    package let clientSecret: ClientSecret?
    /// A JSON object of strings, as sent; empty when there is none.
    package let metadata: String
    /// What to charge once the source is chargeable; nil: what the account says, or nothing.
    package let charge: ChargeOrder?
    /// What is paid by it; the first one holds until a closed watch starts again.
    package let order: OrderID?

    /// Checks what spans several fields; the fields have checked themselves.
    ///
    /// `timeout` is 1 s to 90 days; nil takes what the kind lives for, or else the policy's span.
    package init(
        key: WatchKey,
        policy: PollPolicy = .auto,
        goal: WatchGoal = .settled,
        timeout: Duration? = nil,
        notify: [NotifyURL] = [],
        clientSecret: ClientSecret? = nil,
        metadata: String = "",
        charge: ChargeOrder? = nil,
        acts: DeadlineActs = .unsaid,
        order: OrderID? = nil
    ) throws(InvalidInput) {
        let timeout = timeout ?? key.kind.life ?? policy.span
        guard timeout >= .seconds(1), timeout <= .seconds(90 * 86_400) else {
            throw InvalidInput(field: "timeout", message: "must be between 1s and 90d")
        }
        guard notify.count <= Self.notifyMax else {
            throw InvalidInput(
                field: "notify",
                message: "names \(notify.count) endpoints; at most \(Self.notifyMax) are allowed"
            )
        }
        guard metadata.utf8.count <= Self.metadataBytesMax else {
            throw InvalidInput(
                field: "metadata",
                message: "is larger than \(Self.metadataBytesMax) bytes as JSON"
            )
        }
        guard charge?.isNothing ?? true || key.kind == .source else {
            throw InvalidInput(
                field: "charge",
                message: "is for sources, src_…; a \(key.kind.rawValue) is not charged by us"
            )
        }
        guard goal != .leftPending || key.kind != .http else {
            throw InvalidInput(
                field: "until",
                message: "left_pending is for Stripe's objects; an upstream's `final` statuses end "
                    + "its watches"
            )
        }
        try acts.check(key.kind)
        self.charge = charge
        self.order = order
        self.key = key
        options = WatchOptions(policy: policy, goal: goal, acts: acts)
        self.timeout = timeout
        self.notify = notify
        self.clientSecret = clientSecret
        self.metadata = metadata
    }
}

extension SourceKind {
    /// How long something may still become of an object of Stripe's, at most; nil for what is not
    /// Stripe's.
    ///
    /// Thirty days: a voucher may be paid for days, a bank transfer takes as long, and a SEPA debit
    /// is answered after up to 14 business days; an intent never ends by itself. Where Stripe itself
    /// ends an object earlier (a redirect after an hour, ``SourceLife``), its
    /// watch ends then. *Source*: the page of each method below <https://docs.stripe.com/sources>.
    package var life: Duration? {
        switch self {
        case .source, .paymentIntent, .setupIntent, .charge: .seconds(30 * 86_400)
        case .http, .other: nil
        }
    }
}

/// Accepts watches, and lets those who join late know what has happened already.
///
/// The outbox told only the endpoints a watch had when an event was recorded. An endpoint that
/// joins a watch with a history is marked here, so it is told at once and not only at the next
/// change. A crash between the two steps leaves the joiner without an answer: it asks again.
package struct Enqueuer: Sendable {
    private let watches: any WatchStore
    private let deliveries: any DeliveryQueue
    private let orders: OrderBook?

    /// Accepts into `watches` and marks in `deliveries`; without a book orders become known with the
    /// first news of their payments.
    package init(
        watches: any WatchStore,
        deliveries: any DeliveryQueue,
        orders: OrderBook? = nil
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
    /// A watch that was joined is added with its current payment.
    private func join(
        _ new: [NewWatch],
        _ results: [EnqueueResult]
    ) async throws(StoreError) {
        guard let orders else { return }
        for (watch, result) in zip(new, results) {
            guard let name = watch.order, !result.outcome.isRefused else { continue }
            let isJoined = result.outcome == .joined
            let first = Payment(state: watch.key.kind.isOfPayments ? .awaitingCustomer : .unknown)
            let payment = isJoined ? result.snapshot?.payment : nil
            let member = Order.Member(key: watch.key, seq: result.seq, payment: payment ?? first)
            let key = OrderKey(account: watch.key.account, order: name)
            try await orders.join(key, member, isMostlyNew: !isJoined)
        }
    }
}
