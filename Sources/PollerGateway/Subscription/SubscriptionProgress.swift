import PollerDeliveries

/// The progress of one subscription, and the effect of an event on it, without sockets, tasks or a clock.
///
/// ```
///        ┌──────── a catch-up has read to the end ────────┐
/// reading │                                                ▼
///    ▲    └─ the buffer overflowed: read again           live ── each event is sent at once, in order
///    │                                                     │
///    └── there is room again ── behind ◀── no room, or the feed has lost events
/// ```
/// *No gap, no duplicate*: events that arrive while a catch-up reads the outbox are kept. Afterwards they are sent,
/// except those before the position that the catch-up has reached. Events that the feed had read earlier were in the
/// outbox before the catch-up began. The feed sees all events recorded later. A subscription that falls behind keeps
/// only its position, because the outbox has the events.
///
/// *Position*: a live subscription has received everything that the feed has distributed. So it shares the feed's
/// position and keeps no copy. It keeps a separate position only while it is ahead of the feed in any partition, which
/// is a moment after a catch-up.
///
/// A subscription to one watch identifies its events by seq and id (``SentEvents``).
struct SubscriptionProgress: Sendable {
    /// The maximum of events kept during a catch-up.
    ///
    /// Beyond it the catch-up reads again.
    static let keptMax = 256

    /// The handling of events.
    private enum Phase: Sendable {
        case reading(kept: [LiveEvent], hasOverflowed: Bool)
        case live
        case behind
    }

    /// The messages about an event, in this order.
    enum EventMessage: Sendable {
        case event(LiveEvent)
        case settled(LiveEvent)
    }

    let subscription: Subscription
    private var phase = Phase.reading(kept: [], hasOverflowed: false)
    /// The subscription's position, if it differs from the feed's.
    private var ownPositions: [OutboxPosition]?
    private var sent = SentEvents()
    /// Whether the client has received a cursor with which it can reconnect.
    private(set) var hasCursor = false

    /// Creates a subscription that begins with a catch-up.
    init(_ subscription: Subscription) {
        self.subscription = subscription
    }

    /// Whether it waits to read events that could not be sent.
    var isBehind: Bool {
        if case .behind = phase { true } else { false }
    }

    /// Whether events are sent as they arrive.
    var isLive: Bool {
        if case .live = phase { true } else { false }
    }

    /// Whether an event must be sent now.
    ///
    /// Events during a catch-up are kept for later.
    mutating func shouldSendNow(_ event: LiveEvent) -> Bool {
        switch phase {
        case .behind: return false
        case .reading(var kept, var hasOverflowed):
            guard subscription.interest.matches(event.event) else { return false }
            // Releases the phase's reference, so that the array is not copied.
            phase = .behind
            if kept.count < Self.keptMax { kept.append(event) } else { hasOverflowed = true }
            phase = .reading(kept: kept, hasOverflowed: hasOverflowed)
            return false
        case .live:
            if let ownPositions, event.position <= ownPositions[event.partition] { return false }
            return subscription.interest.matches(event.event)
        }
    }

    /// Whether it is known here if an event was sent and if its source is settled.
    ///
    /// Otherwise the store must be read.
    func isClear(_ event: LiveEvent) -> Bool {
        sent.isClear(event.event, subscription)
    }

    /// Records an event and returns the messages about it.
    ///
    /// There are none if it was sent before. An event that is not requested has only the message that its source is
    /// settled, if it closes a subscribed source.
    mutating func record(_ live: LiveEvent) -> [EventMessage] {
        ownPositions?[live.partition] = live.position
        let (shouldSend, isSettled) = sent.take(live.event, subscription)
        return (shouldSend ? [.event(live)] : []) + (isSettled ? [.settled(live)] : [])
    }

    /// Whether the position after an event is the feed's.
    mutating func isAtFeedPosition(_ event: LiveEvent) -> Bool {
        adoptFeedPosition(event.positions)
        return ownPositions == nil
    }

    /// Marks the subscription as behind, because an event cannot be sent or the feed has lost some.
    ///
    /// `shared` is the position up to which everything was sent or distributed before.
    mutating func fallBehind(at shared: [OutboxPosition]) {
        switch phase {
        case .behind: return
        case .reading(let kept, _): phase = .reading(kept: kept, hasOverflowed: true)
        case .live:
            ownPositions = merged(with: shared)
            phase = .behind
        }
    }

    /// Begins a catch-up.
    ///
    /// From now on events are kept.
    ///
    /// Returns the position to continue from, or `nil` the first time.
    mutating func beginReading() -> SubscriptionState? {
        phase = .reading(kept: [], hasOverflowed: false)
        return ownPositions.map { SubscriptionState(positions: $0, sent: sent) }
    }

    /// Records the progress of the catch-up, from which the client may resume.
    mutating func reached(_ state: SubscriptionState) {
        ownPositions = state.positions
        sent = state.sent
        hasCursor = true
    }

    /// Ends the catch-up and returns the events kept meanwhile, to be sent now.
    ///
    /// Returns `nil` if not all events were kept, and the catch-up must read again.
    mutating func goLive() -> [LiveEvent]? {
        guard case .reading(let kept, let hasOverflowed) = phase else { return [] }
        phase = hasOverflowed ? .behind : .live
        return hasOverflowed ? nil : kept
    }

    /// Drops the separate position once the feed has passed it in every partition.
    mutating func adoptFeedPosition(_ shared: [OutboxPosition]) {
        guard let ownPositions, isLive, zip(ownPositions, shared).allSatisfy({ $0 <= $1 }) else {
            return
        }
        self.ownPositions = nil
    }

    /// Returns the cursor for everything sent so far.
    ///
    /// `shared` is the feed's position.
    func resumeCursor(_ shared: [OutboxPosition]) -> LiveCursor {
        let mark = sent.mark(subscription)
        if isLive { return LiveCursor(positions: merged(with: shared), mark: mark) }
        return LiveCursor(positions: ownPositions ?? shared, mark: mark)
    }

    private func merged(with shared: [OutboxPosition]) -> [OutboxPosition] {
        guard let ownPositions else { return shared }
        return zip(ownPositions, shared).map { max($0, $1) }
    }
}

/// The progress of a catch-up.
struct SubscriptionState: Sendable {
    /// The position that was read, in every partition of the outbox.
    var positions: [OutboxPosition]
    var sent = SentEvents()
}
