import Poller
import PollerIdentity
import PollerQueue

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
    /// Those of the subscription whose end is told for itself: the one watch, or what credentials are good for.
    private var settling: Set<SourceID> {
        guard subscription.watch != nil || subscription.principal.sources != nil else { return [] }
        return subscription.sources ?? []
    }

    /// Looks which of ``settling`` were closed before anything else was looked at.
    ///
    /// For whoever goes on from a place: what is recorded of them is read back.
    mutating func lookForSettled() async throws(StoreError) {
        for source in settling
        where try await store.snapshot(of: key(of: source))?.closed != nil {
            settled.insert(source)
        }
    }

    /// Takes what a client is told of a source at its beginning: events up to there are passed over, so that what
    /// they said of its end is known from here.
    private mutating func take(
        _ snapshot: WatchSnapshot,
        of source: SourceID,
        _ state: inout SubscriptionState
    ) {
        state.told.know(
            key(of: source).id,
            upTo: snapshot.watch.seq,
            digest: snapshot.newestDigest
        )
        guard settling.contains(source) else { return }
        if snapshot.closed == nil { settled.remove(source) } else { settled.insert(source) }
    }

    /// Finds where to begin, says so, and sends snapshots if they are asked for or needed.
    ///
    /// Nil when nobody wants more.
    mutating func begin(_ ends: OutboxEnds) async throws(StoreError) -> SubscriptionState? {
        let newest = ends.newest
        var state = SubscriptionState(positions: newest)
        var lost: String?
        var place: (seq: Int, digest: String?)?
        switch subscription.from {
        case .snapshot: break
        case .now:
            // What was recorded before has a seq up to this one, and is passed over.
            for source in settling {
                let snapshot = try await store.snapshot(of: key(of: source))
                // Of several sources the cursor has no seq: what is recorded behind the ends is still to be
                // told, but of one that is closed, whose end is told from here.
                guard let snapshot, subscription.watch != nil || snapshot.closed != nil else {
                    continue
                }
                take(snapshot, of: source, &state)
            }
        case .seq(let seq):
            place = (seq, nil)
            // Until the history has been told a cursor must not promise more than the seq.
            state.positions = newest.map { _ in .start }
        case .cursor(let text):
            let cursor = cursors.decode(
                text,
                partitions: newest.count,
                for: subscription.principal
            )
            if let cursor, let mark = cursor.mark, mark.watch == subscription.watch?.id {
                place = (mark.seq, mark.digest)
                state.positions = reachable(cursor.positions, ends)
            } else if let cursor {
                let positions = reachable(cursor.positions, ends)
                lost = unreachable(positions, ends)
                if lost == nil { state.positions = positions }
            } else {
                lost = "this is not a cursor for these credentials"
            }
        }
        if let watch = subscription.watch, let place {
            switch try await history(of: watch, after: place.seq, place.digest) {
            case .goesOn(let events, let digest):
                state.told.know(watch.id, upTo: place.seq, digest: digest)
                return try await replay(watch, events, state, newest)
            case .isLost(let reason):
                lost = reason
                state.positions = newest
            }
        }
        messages.append(.subscribed(cursor: cursor(state), lost: lost))
        guard subscription.from == .snapshot || lost != nil else { return state }
        for source in (subscription.sources ?? []).sorted(by: { "\($0)" < "\($1)" }) {
            let key = key(of: source)
            guard let snapshot = try await store.snapshot(of: key) else { continue }
            take(snapshot, of: source, &state)
            messages.append(.snapshot(snapshot, cursor: cursor(state)))
        }
        return state
    }

    /// What follows a place in a watch's history.
    private enum History {
        /// These events, and how the id of the one at the place begins, where it is known.
        case goesOn([Event], digest: String?)
        /// Nobody can go on from there, and why.
        case isLost(String)
    }

    /// Reads what follows a seq, whose event the client has by an id that begins so.
    private func history(
        of watch: WatchKey,
        after seq: Int,
        _ digest: String?
    ) async throws(StoreError) -> History {
        // From the place on: another event that stands there was recorded after what was told is lost.
        var events = try await store.events(
            of: watch,
            after: max(seq - 1, 0),
            limit: Self.batch + 1
        )
        guard let first = events.first else {
            let newest = try await store.snapshot(of: watch)?.watch.seq ?? 0
            return newest >= seq ? .goesOn([], digest: digest) : .isLost(Self.gone)
        }
        guard first.seq == seq else {
            return first.seq == seq + 1 ? .goesOn(events, digest: digest) : .isLost(Self.gone)
        }
        if let digest, digest != first.id.digest {
            return .isLost("the store has lost an event that this cursor was past")
        }
        events.removeFirst()
        return .goesOn(events, digest: first.id.digest)
    }

    private static var gone: String { "events after this place are no longer kept" }

    /// Tells a watch's history; what is recorded meanwhile has a seq beyond it, or is in it.
    ///
    /// Until the end the cursor keeps the old positions, for transports that go by them.
    private mutating func replay(
        _ watch: WatchKey,
        _ first: [Event],
        _ start: SubscriptionState,
        _ newest: [OutboxPosition]
    ) async throws(StoreError) -> SubscriptionState? {
        var state = start
        messages.append(.subscribed(cursor: cursor(state), lost: nil))
        var events = first
        while !events.isEmpty {
            for event in events { try await tell(event, &state) }
            guard await send(state) else { return nil }
            guard events.count >= Self.batch, let last = events.last else { break }
            events = try await store.events(of: watch, after: last.seq, limit: Self.batch)
        }
        state.positions = newest
        return state
    }

    /// Positions as they are in this store: at the beginning of what was split from others and has nothing yet.
    private func reachable(
        _ positions: [OutboxPosition],
        _ ends: OutboxEnds
    ) -> [OutboxPosition] {
        zip(positions, ends.newest).enumerated().map { partition, place in
            store.outbox.isUntouched(partition, newest: place.1) ? .start : place.0
        }
    }

    /// Why nobody can go on from these positions; nil when one can.
    private func unreachable(
        _ positions: [OutboxPosition],
        _ ends: OutboxEnds
    ) -> String? {
        for (partition, position) in positions.enumerated() where !ends.away.contains(partition) {
            if position < ends.trimmed[partition] {
                return "events after this cursor are no longer kept"
            }
            if position > ends.newest[partition] {
                return "the store has lost events that this cursor was past"
            }
        }
        return nil
    }
}

extension WatchSnapshot {
    /// How the id of the newest event begins; nil when it is not known.
    var newestDigest: String? {
        lastEvent.flatMap { $0.seq == watch.seq ? $0.id.digest : nil }
    }
}
