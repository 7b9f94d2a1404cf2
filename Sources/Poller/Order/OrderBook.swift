package import PollerIdentity
package import PollerQueue

/// Where orders are kept: each is an item of the queue of watches that is never due, with a log, and
/// events in the outbox like those of a watch.
package protocol OrderStore: Sendable {
    /// The partition of a lane; asks nobody.
    func partition(of lane: LaneID) -> Int

    /// Reads an order; nil when nobody has named it, or it is forgotten.
    func order(_ key: OrderKey) async throws(StoreError) -> Order?

    /// Stores an order that was changed from `version` (0: nobody had known it), and records what is
    /// to be told of that, all or nothing.
    ///
    /// Stored again it is kept for as long as a closed watch. False when somebody else has changed it
    /// meanwhile: read it again.
    func store(
        _ order: Order,
        over version: Int,
        telling events: [Event]
    ) async throws(StoreError) -> Bool

    /// A page of an account's orders, the newest first.
    func orders(_ query: OrderQuery) async throws(StoreError) -> ListPage<Order>
}

/// Which orders to list, and from where.
package struct OrderQuery: Hashable, Sendable {
    package let account: AccountID
    /// Those of which this is true; nil for all.
    package let state: PaymentState?
    /// Only orders that several attempts have paid.
    package let isPaidTwice: Bool
    /// 1–100: each is read by itself.
    package let limit: Int
    /// `next` of the page before; nil for the first page.
    package let cursor: String?

    /// Describes a page.
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

    /// Whether an order passes the filters.
    package func matches(_ order: Order) -> Bool {
        let truth = order.truth
        return (state == nil || state == truth.payment.state)
            && (!isPaidTwice || !truth.alsoPaidBy.isEmpty)
    }
}

/// Keeps orders up to date with what is told of their members.
///
/// ```
/// enqueue with an order        ─▶ join: the order is known, with a try that awaits its customer
/// payment.* in the outbox      ─▶ note: the order's word changes, order.* is recorded
/// a member is about to charge  ─▶ take: one of them may
/// ```
///
/// *Exactly once*: ``note(_:)`` is called at least once for each event, by whoever reads the outbox. The
/// member's number and what is told are stored together, so a second call finds it known. A crash
/// before it leaves the entry unacknowledged, and another reader notes it.
///
/// *Two at once* read the same version, and one of them is refused and reads again.
package struct OrderBook: Sendable {
    /// Each round somebody else's change was stored; so many in a row are a fault.
    private static let roundsMax = 32

    private let store: any OrderStore

    /// A book over a store.
    package init(_ store: any OrderStore) {
        self.store = store
    }

    /// The partition in which the orders of an account lie; asks nobody.
    func partition(of account: AccountID) -> Int {
        store.partition(of: LaneID(account: account, kind: .order))
    }

    /// Whether an event says something of a payment of an order, so that the store is asked for it.
    func concerns(_ event: Event) -> Bool {
        event.order != nil && event.key.kind != .order && event.type.hasPrefix("payment.")
            && event.payment != nil
    }

    /// Notes what an event says of a payment, when it is one of an order.
    ///
    /// - Returns: the events that were recorded of the order by this call.
    @discardableResult
    package func note(_ event: Event) async throws(StoreError) -> [Event] {
        guard concerns(event), let order = event.order, let payment = event.payment else {
            return []
        }
        let key = OrderKey(account: event.key.account, order: order)
        let told: [Event]? = try await changing(key) { order in
            let before = order
            guard let subjects = order.note(event.key, seq: event.seq, payment) else { return nil }
            let events = order.events(subjects, since: before, because: event)
            return (events, events)
        }
        return told ?? []
    }

    /// Adds a payment to an order before its first event.
    ///
    /// With `isMostlyNew` the first call writes, as for an order that does not exist yet; otherwise it reads.
    func join(
        _ key: OrderKey,
        _ member: Order.Member,
        isMostlyNew: Bool
    ) async throws(StoreError) {
        let _: Bool? = try await changing(key, isMostlyNew: isMostlyNew) { order in
            guard order.join(member) else { return nil }
            return ([], true)
        }
    }

    /// Asks for the right to charge the order of a watch; granted when the store has it.
    ///
    /// Nil when the watch names no order.
    package func take(_ watch: Watch) async throws(StoreError) -> Order.Answer? {
        guard let key = OrderKey(of: watch) else { return nil }
        var answer = Order.Answer.refused(watch.key)
        let _: Bool? = try await changing(key) { order in
            let version = order.version
            answer = order.take(watch.key, seq: watch.seq)
            guard order.version != version else { return nil }
            return ([], true)
        }
        return answer
    }

    /// Reads an order; nil when nobody has named it.
    func order(_ key: OrderKey) async throws(StoreError) -> Order? { try await store.order(key) }

    /// Reads, changes and stores an order, again when somebody else was faster.
    ///
    /// `change` returns what is to be told and what to answer, or nil when nothing has changed.
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
            if try await store.store(order, over: version, telling: events) { return result }
        }
        throw .unavailable("the order changes faster than it can be noted; try again")
    }
}
