import Poller

/// How far one subscription has come, and what an event means for it: without sockets, tasks or a
/// clock.
///
/// ```
///        ┌──────── a catch-up has read to the end ────────┐
/// reading │                                                ▼
///    ▲    └─ the buffer overflowed: read again           live ── told at once, one event after another
///    │                                                     │
///    └── there is room again ── behind ◀── no room, or the feed has lost events
/// ```
/// *No gap, no duplicate*: what happens while a catch-up reads the outbox is kept; then what was kept
/// is told, but for what lies behind the place the reading has come to. What the feed had read before
/// the reading began was in the outbox before; what is recorded after it, the feed sees. Whoever falls
/// behind remembers its place and nothing else: the outbox keeps the rest.
///
/// *Place*: who is live has everything the feed has handed out, so the place is that of the feed, and
/// no subscription keeps a copy. Its own is kept only as long as it is ahead of the feed anywhere,
/// which is so for the moment after a catch-up.
///
/// A subscription to one watch tells its events apart by seq and id (``ToldEvents``).
struct Following: Sendable {
    /// Events kept while a catch-up reads; more are read again.
    static let keptMax = 256

    /// What a subscription does with an event.
    private enum Phase: Sendable {
        case reading(kept: [LiveEvent], hasOverflowed: Bool)
        case live
        case behind
    }

    /// What is to be told about an event, in this order.
    enum Telling: Sendable {
        case event(LiveEvent)
        case settled(LiveEvent)
    }

    let subscription: Subscription
    private var phase = Phase.reading(kept: [], hasOverflowed: false)
    /// What it has read, when that is not what the feed has handed out.
    private var own: [OutboxPosition]?
    private var told = ToldEvents()
    /// Whether the client has been told a place that it can come back with.
    private(set) var hasPlace = false

    /// A subscription that begins with a catch-up.
    init(_ subscription: Subscription) {
        self.subscription = subscription
    }

    /// Whether it waits to read what it could not be told.
    var isBehind: Bool {
        if case .behind = phase { true } else { false }
    }

    /// Whether it is told events as they come.
    var isLive: Bool {
        if case .live = phase { true } else { false }
    }

    /// Whether an event is to be told now.
    ///
    /// What comes during a catch-up is kept.
    mutating func isNews(_ event: LiveEvent) -> Bool {
        switch phase {
        case .behind: return false
        case .reading(var kept, var hasOverflowed):
            guard subscription.interest.hears(event.event) else { return false }
            // Held by nobody else while it grows.
            phase = .behind
            if kept.count < Self.keptMax { kept.append(event) } else { hasOverflowed = true }
            phase = .reading(kept: kept, hasOverflowed: hasOverflowed)
            return false
        case .live:
            if let own, event.position <= own[event.partition] { return false }
            return subscription.interest.hears(event.event)
        }
    }

    /// Whether it can be said of an event here whether it was told; else the store is to be asked.
    func isClear(_ event: LiveEvent) -> Bool {
        told.standing(of: event.event) != .unclear
    }

    /// Takes an event in: nothing is to be told when it has been told already, or is not wanted.
    mutating func tell(_ live: LiveEvent) -> [Telling] {
        own?[live.partition] = live.position
        let (isTold, isSettled) = told.take(live.event, subscription)
        return (isTold ? [.event(live)] : []) + (isSettled ? [.settled(live)] : [])
    }

    /// Whether the place behind an event is that of the feed.
    mutating func isShared(_ event: LiveEvent) -> Bool {
        settlePlace(event.positions)
        return own == nil
    }

    /// The client cannot be told an event, or the feed has lost some: `shared` is how far everything
    /// was told or handed out before.
    mutating func fallBehind(at shared: [OutboxPosition]) {
        switch phase {
        case .behind: return
        case .reading(let kept, _): phase = .reading(kept: kept, hasOverflowed: true)
        case .live:
            own = merged(with: shared)
            phase = .behind
        }
    }

    /// A catch-up begins: what happens from now on is kept.
    ///
    /// Returns where it goes on; nil at first.
    mutating func beginReading() -> SubscriptionState? {
        phase = .reading(kept: [], hasOverflowed: false)
        return own.map { SubscriptionState(positions: $0, told: told) }
    }

    /// The catch-up has told so much that the client may come back with that place.
    mutating func reached(_ state: SubscriptionState) {
        own = state.positions
        told = state.told
        hasPlace = true
    }

    /// The catch-up has read to the end: returns what was kept meanwhile, to be told now; nil when
    /// not everything was kept, and it must read again.
    mutating func goLive() -> [LiveEvent]? {
        guard case .reading(let kept, let hasOverflowed) = phase else { return [] }
        phase = hasOverflowed ? .behind : .live
        return hasOverflowed ? nil : kept
    }

    /// Gives its own place up once the feed has passed it everywhere.
    mutating func settlePlace(_ shared: [OutboxPosition]) {
        guard let own, isLive, zip(own, shared).allSatisfy({ $0 <= $1 }) else { return }
        self.own = nil
    }

    /// What it has been told up to now; `shared` is how far the feed has handed events out.
    func place(_ shared: [OutboxPosition]) -> LiveCursor {
        let mark = told.mark(subscription)
        if isLive { return LiveCursor(positions: merged(with: shared), mark: mark) }
        return LiveCursor(positions: own ?? shared, mark: mark)
    }

    private func merged(with shared: [OutboxPosition]) -> [OutboxPosition] {
        guard let own else { return shared }
        return zip(own, shared).map { max($0, $1) }
    }
}

/// How far a catch-up has come.
struct SubscriptionState: Sendable {
    /// Read up to here, in every partition of the outbox.
    var positions: [OutboxPosition]
    var told = ToldEvents()
}
