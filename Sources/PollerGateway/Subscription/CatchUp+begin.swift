import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// The beginning of a subscription.
///
/// | requested | begins at | first messages |
/// |---|---|---|
/// | `now` | the newest entries | `subscribed` |
/// | `snapshot` | the newest entries | `subscribed`, a snapshot of each source |
/// | a seq of the one watch | the watch's log after it | `subscribed`, the events of the log |
/// | a cursor with a mark of the one watch | the same, with the cursor's seq | the same |
/// | a cursor without such a mark | the cursor's positions in the outbox | `subscribed` |
/// | a position that is gone, or a cursor of others | the newest entries | `subscribed` with the reason, snapshots |
///
/// The newest entries are read before anything is sent. Events recorded meanwhile are after every position, so the
/// outbox or the hub delivers them.
extension CatchUp {
    /// The sources with a separate message about their end: the only one, or those of the credentials.
    private var settling: Set<SourceID> {
        let sources = subscription.sources ?? []
        return sources.count == 1 || subscription.principal.sources != nil ? sources : []
    }

    /// Reads which sources of ``settling`` were closed before anything else was read.
    ///
    /// It is for subscriptions that resume from a position. Later events of these sources are read back.
    mutating func findSettled() async throws(StoreError) {
        for source in settling where try await isSettled(snapshots(of: source)) {
            settled.insert(source)
        }
    }

    /// Records the snapshots of a source.
    ///
    /// Events up to them are skipped, so the end of the source must be known from here.
    private mutating func take(
        _ found: [WatchSnapshot],
        of source: SourceID,
        _ state: inout SubscriptionState
    ) {
        for snapshot in found {
            state.sent.markSent(
                snapshot.watch.key.id,
                upTo: snapshot.watch.seq,
                digest: snapshot.newestDigest
            )
        }
        guard !found.isEmpty, settling.contains(source) else { return }
        if isSettled(found) { settled.insert(source) } else { settled.remove(source) }
    }

    /// Finds the position to begin at, sends it, and sends snapshots if they are requested or needed.
    ///
    /// Returns `nil` if the connection accepts no more messages.
    mutating func begin(_ ends: OutboxEnds) async throws(StoreError) -> SubscriptionState? {
        let newest = ends.newest
        var state = SubscriptionState(positions: newest)
        var lost: String?
        var position: (seq: Int, digest: String?)?
        switch subscription.from {
        case .snapshot: break
        case .now:
            // Events recorded before have a seq up to this one and are skipped.
            for source in settling {
                let found = try await snapshots(of: source)
                // With several watches the cursor has no seq, so events recorded after the ends must still be sent. A
                // closed source is the exception, because its end is sent from here.
                guard subscription.watch != nil || isSettled(found) else { continue }
                take(found, of: source, &state)
            }
        case .seq(let seq):
            position = (seq, nil)
            // Until the log has been sent, a cursor must not promise more than the seq.
            state.positions = newest.map { _ in .start }
        case .cursor(let text):
            let cursor = cursors.decode(
                text,
                partitions: newest.count,
                for: subscription.principal
            )
            if let cursor, let mark = cursor.mark, mark.watch == subscription.watch?.id {
                position = (mark.seq, mark.digest)
                state.positions = reachable(cursor.positions, ends)
            } else if let cursor {
                let positions = reachable(cursor.positions, ends)
                lost = unreachable(positions, ends)
                if lost == nil { state.positions = positions }
            } else {
                lost = "this is not a cursor for these credentials"
            }
        }
        if let watch = subscription.watch, let position {
            switch try await history(of: watch, after: position.seq, position.digest) {
            case .resumable(let events, let digest):
                state.sent.markSent(watch.id, upTo: position.seq, digest: digest)
                return try await replay(watch, events, state, newest)
            case .lost(let reason):
                lost = reason
                state.positions = newest
            }
        }
        messages.append(.subscribed(cursor: cursor(state), lost: lost))
        guard subscription.from == .snapshot || lost != nil else { return state }
        for source in (subscription.sources ?? []).sorted(by: { "\($0)" < "\($1)" }) {
            let found = try await snapshots(of: source)
            take(found, of: source, &state)
            for snapshot in found {
                messages.append(.snapshot(snapshot, cursor: cursor(state)))
            }
        }
        return state
    }

    /// The events after a position in a watch's log.
    private enum History {
        /// These events, and the digest of the event at the position, if known.
        case resumable([Event], digest: String?)
        /// The log cannot be resumed, with the reason.
        case lost(String)
    }

    /// Reads the events after a seq.
    ///
    /// `digest` identifies the event at that seq, which the client has.
    private func history(
        of watch: WatchKey,
        after seq: Int,
        _ digest: String?
    ) async throws(StoreError) -> History {
        // Includes the event at the position. Another event there was recorded after the store had lost the client's
        // event.
        var events = try await store.events(
            of: watch,
            after: max(seq - 1, 0),
            limit: Self.batch + 1
        )
        guard let first = events.first else {
            let newest = try await store.snapshot(of: watch)?.watch.seq ?? 0
            return newest >= seq ? .resumable([], digest: digest) : .lost(Self.gone)
        }
        guard first.seq == seq else {
            return first.seq == seq + 1 ? .resumable(events, digest: digest) : .lost(Self.gone)
        }
        if let digest, digest != first.digest {
            return .lost("the store has lost an event that this cursor was past")
        }
        events.removeFirst()
        return .resumable(events, digest: first.digest)
    }

    private static var gone: String { "events after this place are no longer kept" }

    /// Sends a watch's log.
    ///
    /// Events recorded meanwhile have a later seq, or are in the log already.
    ///
    /// The cursor keeps the old positions until the end, for transports that use them.
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
            for event in events { try await appendMessages(event, &state) }
            guard await send(state) else { return nil }
            guard events.count >= Self.batch, let last = events.last else { break }
            events = try await store.events(of: watch, after: last.seq, limit: Self.batch)
        }
        state.positions = newest
        return state
    }

    /// Converts positions to those of this store.
    ///
    /// A partition that was split off and has no entries begins at the
    /// start.
    func reachable(
        _ positions: [OutboxPosition],
        _ ends: OutboxEnds
    ) -> [OutboxPosition] {
        zip(positions, ends.newest).enumerated().map { partition, position in
            store.outbox.isUntouched(partition, newest: position.1) ? .start : position.0
        }
    }

    /// Returns the reason why these positions cannot be resumed, or `nil` if they can.
    func unreachable(
        _ positions: [OutboxPosition],
        _ ends: OutboxEnds
    ) -> String? {
        for (partition, position) in positions.enumerated()
        where !ends.unavailablePartitions.contains(partition) {
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
    /// The digest of the newest event, or `nil` if it is unknown.
    var newestDigest: String? {
        lastEvent.flatMap { $0.seq == watch.seq ? $0.digest : nil }
    }
}
