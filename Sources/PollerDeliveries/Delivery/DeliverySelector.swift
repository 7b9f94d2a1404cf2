import Logging
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches

/// Selects the event that a delivery sends next, also after a failover that has lost events.
struct DeliverySelector<Store: WatchStore>: Sendable {
    /// The number of events read at a time; unsubscribed ones are skipped together.
    static var readAhead: Int { 32 }

    let store: Store
    /// The past attempts; without them a delivery continues at the newest event after a failover.
    let operations: (any DeliveryOperations)?
    let logger: Logger

    /// The result of reading the log.
    enum Selection {
        case event(PendingEvent)
        /// No event to send now.
        case passed(DeliveryState, Verdict)
    }

    /// Selects the event to send: one that was requested again, else the next after the cursor.
    func next(
        _ leased: LeasedItem<Delivery>,
        _ target: DeliveryTarget,
        isSuperseding: Bool,
        wants: (Event) -> Bool
    ) async throws(StoreError) -> Selection {
        let delivery = leased.item
        var state = delivery.state
        if let seq = state.again.first {
            let event = try await store.event(seq, of: delivery.watch)
            // A restored event was delivered before it was archived: it is sent only if it is a dead letter here.
            if let event, !event.isRestored || state.dead.contains(seq) {
                return .event(PendingEvent(event, more: true))
            }
            // The log no longer contains it.
            if event == nil { warnOfDeletedEvents(delivery) }
            state.settle(seq)
            return .passed(state, .next(after: .zero))
        }
        // The last delivered event is read once more. A different one in its place means that a failover has started
        // another history.
        let known = state.cursorDigest == nil ? 0 : 1
        var events = try await store.deliverableLog(
            of: delivery.watch,
            after: state.cursor - known,
            limit: Self.readAhead + known
        )
        if let cursorDigest = state.cursorDigest, let first = events.first,
            first.seq == state.cursor
        {
            events.removeFirst()
            if let digest = first.digest, digest != cursorDigest {
                return try await rewound(leased, newest: state.cursor, digest, wants: wants)
            }
        } else if events.isEmpty {
            // If this read failed and the delivery rested, nothing would wake it for events that a failover has lost.
            let snapshot = try await readableSnapshot(of: delivery.watch)
            if let newest = snapshot?.watch.seq, newest < state.cursor {
                return try await rewound(leased, newest: newest, nil, wants: wants)
            }
            // A watch without a last event has lost its log to retention, like a deleted watch.
            if snapshot?.lastEvent == nil, snapshot?.watch.seq ?? .max > state.cursor {
                warnOfDeletedEvents(delivery)
            }
        }
        // A local error counts no failure, and a message that was late for it may be outdated, too.
        let isFailing =
            state.failures > 0
            || (state.failedSince != nil && (isSuperseding || leased.lease.outage != nil))
        let isWhole = events.count < Self.readAhead
        if let pending = PendingEvent(
            in: events,
            isWhole: isWhole,
            coalesces: isFailing && (isSuperseding || target.endpoint?.coalesces == true),
            wants: wants
        ) {
            return .event(pending)
        }
        if let last = events.last { state.pass(last.seq, digest: last.digest) }
        // More events may follow a full page of unsubscribed ones.
        return .passed(state, isWhole ? state.restingVerdict : .next(after: .zero))
    }

    /// Returns the watch; `nil` if there is none, or if its record is damaged, which a repeated read would not change.
    private func readableSnapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        do throws(StoreError) {
            return try await store.snapshot(of: key)
        } catch {
            guard case .corrupt = error else { throw error }
            return nil
        }
    }

    /// Logs that events are gone that were never delivered, usually because their endpoint was disabled for longer than
    /// the watch is kept.
    private func warnOfDeletedEvents(_ delivery: Delivery) {
        logger.warning(
            "events were deleted before they were delivered; see closed_retention",
            metadata: [
                "source": "\(delivery.watch.source)", "endpoint": "\(delivery.endpoint)",
                "cursor": "\(delivery.state.cursor)",
            ]
        )
    }

    /// Rewinds a delivery after a failover, because new events have the numbers of lost ones.
    ///
    /// It continues with the first event that this endpoint wants and has not got. If no attempt is known, delivery
    /// starts at the newest event, so that the end of the payment is delivered in any case.
    ///
    /// The log is read up to `newest`, which is the cursor or the end of the log. `digest` is that of the event at the
    /// cursor; `nil` if the log ends before the cursor.
    private func rewound(
        _ leased: LeasedItem<Delivery>,
        newest: Int,
        _ digest: String?,
        wants: (Event) -> Bool
    ) async throws(StoreError) -> Selection {
        let ref = leased.lease.ref
        let id = DeliveryID(partition: ref.partition, item: ref.id)
        var state = leased.item.state
        let attempts = try await operations?.attempts(of: id) ?? []
        let passed = attempts.filter { $0.seq <= state.cursor }
        if passed.isEmpty {
            state.rewind(to: newest - 1)
        } else {
            let log = try await store.events(of: leased.item.watch, after: 0, limit: newest)
                .prefix { $0.seq <= newest }
            if let missing = log.first(where: { wants($0) && !isPassed($0, by: passed) }) {
                state.rewind(to: missing.seq - 1)
            } else {
                state.rewind(to: newest, digest: digest ?? log.last?.digest)
            }
        }
        logger.warning(
            "the store has lost events that were already delivered",
            metadata: ["source": "\(leased.item.watch.source)", "cursor": "\(state.cursor)"]
        )
        return .passed(state, .next(after: .zero))
    }

    /// Returns whether a delivery has passed an event, as its attempts show: its own, or a later one of the same or a
    /// higher number.
    ///
    /// Events that were replaced by a newer one, that expired, or that the endpoint did not want have no attempt. Nor
    /// have old ones, because a delivery keeps its last attempts only. Of accepted ones it keeps the number for longer
    /// (`AcceptedLine`). An event that was recorded in place of a lost one is newer than the attempts of the lost one.
    private func isPassed(_ event: Event, by attempts: [AttemptRecord]) -> Bool {
        if attempts.contains(where: { $0.event == event.id }) { return true }
        // An order's event has the time of the payment that caused it.
        guard event.key.kind != .order else { return false }
        // The clocks need not agree here: a failover does not lose as many events as there are attempts.
        let oldest = attempts.min { $0.seq < $1.seq }
        if let oldest, event.seq < oldest.seq, event.polledAt <= oldest.at { return true }
        let latest = event.polledAt + Self.clockDifferenceMax
        return attempts.contains { $0.seq >= event.seq && $0.at >= latest }
    }

    /// The greatest difference between the clocks of two masters: one has the event, another one the attempts.
    private static var clockDifferenceMax: Duration { .seconds(60) }
}
