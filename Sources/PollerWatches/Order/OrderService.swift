package import PollerIdentity
package import PollerPayments
package import PollerQueue

/// The store of orders: each is an item of the queue of watches that is never due, with a log, and events in the outbox
/// like those of a watch.
package protocol OrderStore: Sendable {
    /// Returns the partition of a lane, without a request.
    func partition(of lane: LaneID) -> Int

    /// Reads an order; `nil` for an unknown or deleted one.
    func order(_ key: OrderKey) async throws(StoreError) -> Order?

    /// Stores an order that was changed from `version` (0 for a new one) and records its events, completely or not at
    /// all.
    ///
    /// Each write extends its retention to that of a closed watch. Returns false after a concurrent change: read it
    /// again.
    func store(
        _ order: Order,
        over version: Int,
        recording events: [Event]
    ) async throws(StoreError) -> Bool

    /// Returns a page of an account's orders, the newest first.
    func orders(_ query: OrderQuery) async throws(StoreError) -> ListPage<Order>
}

/// The filters and the position of a list of orders.
package struct OrderQuery: Hashable, Sendable {
    package let account: AccountID
    /// The payment state; `nil` for all.
    package let state: PaymentState?
    /// Only orders that several attempts have paid.
    package let isPaidTwice: Bool
    /// The size of the page, 1–100, because each order is a separate read.
    package let limit: Int
    /// The `next` of the previous page; `nil` for the first page.
    package let cursor: String?

    package init(
        account: AccountID,
        state: PaymentState? = nil,
        isPaidTwice: Bool = false,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.account = account
        self.state = state
        self.isPaidTwice = isPaidTwice
        self.limit = min(max(limit, 1), 100)
        self.cursor = cursor
    }

    /// Whether the query reads many records, because no index selects the matches.
    package var isScan: Bool { state != nil || isPaidTwice }

    /// Whether an order passes the filters.
    package func matches(_ order: Order) -> Bool {
        let summary = order.summary
        return (state == nil || state == summary.payment.state)
            && (!isPaidTwice || !summary.alsoPaidBy.isEmpty)
    }
}

/// Updates orders from the events of their members.
///
/// ```
/// enqueue with an order        ─▶ join: the order is known, with an attempt that awaits its customer, or the payment
///                                 of a watch that is open already
/// payment.* in the outbox      ─▶ note: the order's state changes, order.* is recorded
/// refund.* in the outbox       ─▶ the same, although only the refund has changed
/// another event of a member    ─▶ the same, if the order missed its payment; the last one extends its retention
/// a member is about to charge  ─▶ take: one of them may
/// nothing was charged          ─▶ release: another one may
/// ```
///
/// *Exactly once*: the reader of the outbox calls ``note(_:)`` at least once for each event. The member's event number
/// and the order's events are stored together, so a second call has no effect. A crash before leaves the entry
/// unacknowledged, and another reader applies it.
///
/// *Concurrent changes* read the same version, and one of them is rejected and reads again.
package struct OrderService: Sendable {
    /// The maximum number of rounds.
    ///
    /// In each one a concurrent change was stored; this many in a row are a fault.
    private static let roundsMax = 32

    private let store: any OrderStore

    /// Creates a service over a store.
    package init(_ store: any OrderStore) {
        self.store = store
    }

    /// Returns the partition of an account's orders, without a request.
    package func partition(of account: AccountID) -> Int {
        store.partition(of: LaneID(account: account, kind: .order))
    }

    /// Whether an event is about a payment of an order, so that the store must be read.
    ///
    /// Not only an event `payment.…`: if the order joined the watch while a poll charged it, the payment's own event
    /// does not name the order, but later events do.
    package func concerns(_ event: Event) -> Bool {
        event.order != nil && event.key.kind != .order && event.payment != nil
    }

    private static func isOfPayment(_ event: Event) -> Bool { event.type.hasPrefix("payment.") }

    /// Applies an event to the order of its payment, if there is one.
    ///
    /// - Returns: the order's events that this call recorded.
    @discardableResult
    package func note(_ event: Event) async throws(StoreError) -> [Event] {
        guard concerns(event), let order = event.order, let payment = event.payment else {
            return []
        }
        let key = OrderKey(account: event.key.account, order: order)
        let recorded: [Event]? = try await changing(key) { order in
            let before = order
            var payment = payment
            if !Self.isOfPayment(event) {
                // Mostly the payment's own event came before. Until the end only another state, or the event of a refund,
                // shows that it did not.
                let known = order.members.first { $0.key == event.key }
                let knownState = known?.payment.state ?? .awaitingCustomer
                let mayDiffer = event.final || event.type.hasPrefix("refund.")
                if known?.payment == payment || !mayDiffer && knownState == payment.state {
                    // The age of an order counts from the ends of its attempts.
                    guard let known, event.closed != nil, known.polledAt != event.polledAt else {
                        return nil
                    }
                    payment = known.payment
                }
            }
            let noted = order.note(event.key, seq: event.seq, payment, at: event.polledAt)
            guard let subjects = noted else { return nil }
            let events = order.events(subjects, since: before, because: event)
            return (events, events)
        }
        return recorded ?? []
    }

    /// Adds a payment to an order before its first event.
    ///
    /// With `isMostlyNew` the first call writes, as for an order that does not exist yet; otherwise it reads. A known
    /// payment begins again then: the order is stored unchanged, which extends its retention.
    func join(
        _ key: OrderKey,
        _ member: Order.Member,
        isMostlyNew: Bool
    ) async throws(StoreError) {
        let _: Bool? = try await changing(key, isMostlyNew: isMostlyNew) { order in
            order.join(member) == nil && !isMostlyNew ? nil : ([], true)
        }
    }

    /// Adds the known payment of a watch, and records the changes of the order, which the watch's events do not name.
    ///
    /// `cause` reads the last event of the watch. It is only called if the order changes.
    func join(
        _ key: OrderKey,
        _ member: Order.Member,
        because cause: () async throws(StoreError) -> Event?
    ) async throws(StoreError) {
        var event: Event?
        var needsEvent = false
        repeat {
            if needsEvent { event = try await cause() }
            let isAsked = needsEvent
            needsEvent = false
            let _: Bool? = try await changing(key) { order in
                let before = order
                guard let subjects = order.join(member) else { return nil }
                if !subjects.isEmpty, !isAsked {
                    needsEvent = true
                    return nil
                }
                let events = event.map { order.events(subjects, since: before, because: $0) }
                return (events ?? [], true)
            }
        } while needsEvent
    }

    /// Requests the right to charge the order of a watch; it is granted once it is stored.
    ///
    /// `polledAt` is the time of the poll that requests it, as in the events of that poll. The result is `nil` when the
    /// watch names no order.
    package func take(
        _ watch: Watch,
        at polledAt: Timestamp? = nil
    ) async throws(StoreError) -> Order.Answer? {
        guard let key = OrderKey(of: watch) else { return nil }
        var answer = Order.Answer.refused(watch.key)
        let _: Bool? = try await changing(key) { order in
            let version = order.version
            answer = order.take(watch.key, seq: watch.seq, at: polledAt)
            guard order.version != version else { return nil }
            return ([], true)
        }
        return answer
    }

    /// Releases a right to charge whose poll has certainly charged nothing, so that another attempt can be charged.
    ///
    /// It has no effect if another poll has got the right too.
    package func release(_ number: Int, of watch: Watch) async throws(StoreError) {
        guard let key = OrderKey(of: watch) else { return }
        let _: Bool? = try await changing(key) { order in
            order.release(watch.key, number: number) ? ([], true) : nil
        }
    }

    /// Reads an order; `nil` for an unknown one.
    package func order(_ key: OrderKey) async throws(StoreError) -> Order? {
        try await store.order(key)
    }

    /// Reads, changes and stores an order, and repeats after a concurrent change.
    ///
    /// `change` returns the events and the result, or `nil` when nothing has changed.
    private func changing<Outcome>(
        _ key: OrderKey,
        isMostlyNew: Bool = false,
        _ change: (inout Order) -> (events: [Event], result: Outcome)?
    ) async throws(StoreError) -> Outcome? {
        for round in 0..<Self.roundsMax {
            let isGuess = isMostlyNew && round == 0
            var order = Order(key: key)
            if !isGuess, let known = try await store.order(key) { order = known }
            let version = order.version
            guard let (events, result) = change(&order) else { return nil }
            if try await store.store(order, over: version, recording: events) { return result }
        }
        throw .unavailable("the order changes faster than it can be recorded; try again")
    }
}
