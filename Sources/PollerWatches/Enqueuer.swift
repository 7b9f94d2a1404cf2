package import PollerIdentity
package import PollerPayments
package import PollerQueue

/// A request to watch a source, checked and ready for the store.
package struct NewWatch: Hashable, Sendable, HasWatchOptions {
    /// The limit of recipients per request.
    ///
    /// Each event costs a delivery to each recipient.
    package static let notifyMax = 16
    /// The limit of recipients per watch, over all requests that joined it.
    ///
    /// A request that exceeds it is rejected.
    package static let notifyKeptMax = 64
    /// The size limit of metadata as JSON, in bytes.
    package static let metadataBytesMax = 4096

    package let key: WatchKey
    package var options: WatchOptions
    /// The span from now to the deadline.
    package let timeout: Duration
    package let notify: [NotifyURL]
    package let clientSecret: ClientSecret?
    /// A JSON object of strings, as sent; empty when there is none.
    package let metadata: String
    /// The charge to make when the source is chargeable; `nil` for the default of the account, or no charge.
    package let charge: ChargeOrder?
    /// The shop's order ID.
    ///
    /// The first one stays until a closed watch is restarted.
    package let order: OrderID?

    /// Checks the rules that span several fields.
    ///
    /// Each field has been checked on its own.
    ///
    /// `timeout` is 1 s to 90 days. `nil` selects the lifetime of the kind, or else the span of the policy.
    package init(
        key: WatchKey,
        policy: PollPolicy = .auto,
        goal: WatchGoal = .settled,
        timeout: Duration? = nil,
        notify: [NotifyURL] = [],
        clientSecret: ClientSecret? = nil,
        metadata: String = "",
        charge: ChargeOrder? = nil,
        acts: DeadlineActs = .unset,
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
                message: "is for sources (src_…); Poller does not charge a \(key.kind.rawValue)"
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
    /// The longest time in which a Stripe object can still change; `nil` for other upstreams.
    ///
    /// Thirty days: a voucher can be paid for days, a bank transfer takes as long, and a SEPA debit is answered within
    /// 14 business days. An intent never expires. If Stripe ends an object earlier (a redirect after an hour,
    /// `SourceLife`), its watch ends then. *Source*: the page of each method below <https://docs.stripe.com/sources>.
    package var life: Duration? {
        switch self {
        case .source, .paymentIntent, .setupIntent, .charge: .seconds(30 * 86_400)
        case .http, .other: nil
        }
    }
}

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
    /// Without a book, an order becomes known with the first event of its payments.
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
    /// A watch that was joined is added with its current payment.
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
            try await orders.join(key, member, isMostlyNew: !isJoined)
        }
    }
}
