import Poller

/// How a subscription finds its beginning.
///
/// | asked for | begins at | says first |
/// |---|---|---|
/// | `now` | the newest entries | `subscribed` |
/// | `snapshot` | the newest entries | `subscribed`, a snapshot of each source |
/// | a seq of the one watch | the watch's history behind it | `subscribed`, what the history has |
/// | a cursor that marks the one watch | the same, with the cursor's seq | the same |
/// | a cursor without such a mark | the cursor's positions in the outbox | `subscribed` |
/// | a place that is gone, or a cursor of others | the newest entries | `subscribed` with the reason, snapshots |
///
/// The newest entries are looked up before anything is told, so what is recorded meanwhile lies
/// beyond every position: it follows from the outbox or the hub.
extension CatchUp {
    /// The sources of credentials bound to some that were closed before we looked at anything
    /// else: what is recorded of them is read back.
    func settledBefore() async throws(StoreError) -> Set<SourceID> {
        guard subscription.watch != nil || subscription.principal.sources != nil else { return [] }
        var settled: Set<SourceID> = []
        for source in subscription.sources ?? []
        where try await store.watches.snapshot(of: key(of: source))?.closed != nil {
            settled.insert(source)
        }
        return settled
    }

    /// Finds where to begin, says so, and sends snapshots if they are asked for or needed.
    ///
    /// Nil when nobody wants more.
    mutating func begin(
        _ bounds: [OutboxBounds]
    ) async throws(StoreError) -> SubscriptionState? {
        let newest = bounds.map { OutboxPosition($0.newest) ?? .start }
        var state = SubscriptionState(positions: newest)
        var lost: String?
        var history: Int?
        switch subscription.from {
        case .snapshot: break
        case .now:
            // What was recorded before has a seq up to this one, and is passed over.
            if let watch = subscription.watch {
                state.told.known[watch.id] = try await store.watches.snapshot(of: watch)?.watch.seq
            }
        case .seq(let seq):
            history = seq
            // Until the history has been told a cursor must not promise more than the seq.
            state.positions = newest.map { _ in .start }
        case .cursor(let text):
            let cursor = cursors.decode(
                text,
                partitions: bounds.count,
                for: subscription.principal
            )
            if let cursor, let mark = cursor.mark, mark.watch == subscription.watch?.id {
                history = mark.seq
                state.positions = reachable(cursor.positions, bounds)
            } else if let cursor {
                let positions = reachable(cursor.positions, bounds)
                lost = unreachable(positions, bounds)
                if lost == nil { state.positions = positions }
            } else {
                lost = "this is not a cursor for these credentials"
            }
        }
        if let watch = subscription.watch, let seq = history {
            if let events = try await first(of: watch, after: seq) {
                return try await replay(watch, after: seq, events, state, newest)
            }
            lost = "events after this place are no longer kept"
            state.positions = newest
        }
        messages.append(.subscribed(cursor: cursor(state), lost: lost))
        guard subscription.from == .snapshot || lost != nil else { return state }
        for source in (subscription.sources ?? []).sorted(by: { "\($0)" < "\($1)" }) {
            let key = key(of: source)
            guard let snapshot = try await store.watches.snapshot(of: key) else { continue }
            state.told.known[key.id] = snapshot.watch.seq
            messages.append(.snapshot(snapshot, cursor: cursor(state)))
        }
        return state
    }

    /// The events that follow a seq; nil when some of them are gone, or the store never had it.
    private func first(
        of watch: WatchKey,
        after seq: Int
    ) async throws(StoreError) -> [Event]? {
        let events = try await store.watches.events(of: watch, after: seq, limit: Self.batch)
        if let first = events.first { return first.seq == seq + 1 ? events : nil }
        return try await store.watches.snapshot(of: watch)?.watch.seq ?? 0 >= seq ? [] : nil
    }

    /// Tells a watch's history; what is recorded meanwhile has a seq beyond it, or is in it.
    ///
    /// Until the end the cursor keeps the old positions, for transports that go by them.
    private mutating func replay(
        _ watch: WatchKey,
        after seq: Int,
        _ first: [Event],
        _ start: SubscriptionState,
        _ newest: [OutboxPosition]
    ) async throws(StoreError) -> SubscriptionState? {
        var state = start
        state.told.known[watch.id] = seq
        messages.append(.subscribed(cursor: cursor(state), lost: nil))
        var events = first
        while !events.isEmpty {
            for event in events { tell(event, &state) }
            guard await send(state) else { return nil }
            guard events.count == Self.batch else { break }
            events = try await store.watches.events(
                of: watch,
                after: state.told.known[watch.id] ?? seq,
                limit: Self.batch
            )
        }
        state.positions = newest
        return state
    }

    /// Positions as they are in this store: at the beginning of what was split from others and has nothing yet.
    private func reachable(
        _ positions: [OutboxPosition],
        _ bounds: [OutboxBounds]
    ) -> [OutboxPosition] {
        zip(positions, bounds).enumerated().map { partition, place in
            store.outbox.isUntouched(partition, place.1) ? .start : place.0
        }
    }

    /// Why nobody can go on from these positions; nil when one can.
    private func unreachable(
        _ positions: [OutboxPosition],
        _ bounds: [OutboxBounds]
    ) -> String? {
        for (position, bound) in zip(positions, bounds) {
            if position < OutboxPosition(bound.trimmed) ?? .start {
                return "events after this cursor are no longer kept"
            }
            if position > OutboxPosition(bound.newest) ?? .start {
                return "the store has lost events that this cursor was past"
            }
        }
        return nil
    }
}
