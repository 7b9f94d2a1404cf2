package import PollerIdentity
package import PollerPayments
package import PollerQueue
package import PollerWatches

extension MemoryStore {
    package var searchKeys: SearchKeys { .standard }

    package func enqueue(
        _ watches: [NewWatch],
        reading: Bool
    ) async throws(StoreError) -> [EnqueueResult] {
        changing { state, now in
            let refused = watches.map { state.refusal(of: $0) }
            guard refused.allSatisfy({ $0 == nil }) else {
                return zip(watches, refused).map { new, refusal in
                    state.result(of: new, .refused(refusal ?? .notTried))
                }
            }
            let outcomes = watches.map { new in
                let partition = state.queue.partition(of: new.key.lane)
                return Self.enqueue(new, into: &state.queue[partition], now: now, state.flaws)
            }
            return zip(watches, outcomes).map { new, outcome in
                let showsPayment = outcome == .joined && new.order != nil
                return state.result(of: new, outcome, isRead: reading, showsPayment: showsPayment)
            }
        }
    }

    private static func enqueue(
        _ new: NewWatch,
        into partition: inout MemoryPartition<WatchRecord>,
        now: Timestamp,
        _ flaws: Set<QueueFlaw>
    ) -> EnqueueResult.Outcome {
        let id = new.key.id
        let changesOrder = flaws.contains(.movesToOtherOrders)
        let record = partition.items[id]?.record
        let isFull = record?.hasRoom(for: new.notify) == false
        switch partition.items[id]?.phase {
        case nil:
            partition.insert(id, lane: new.key.lane, WatchRecord(new, now: now), now: now)
            return .created
        case .closed:
            partition.update(id) { $0.restart(new, now: now) }
            partition.makeDue(id, now: now)
            return .restarted
        case .waiting, .leased:
            if !changesOrder, let held = record?.otherOrder(than: new.order) {
                return .refused(.otherOrder(held))
            }
            if isFull { return .refused(.tooManyURLs) }
            if record?.gains(from: new) == true, !flaws.contains(.recordsOutdatedPolls) {
                partition.outdate(id)
            }
            partition.update(id) { $0.join(new, now: now, changesOrder: changesOrder) }
            // A watch that is already due keeps its position.
            if case .waiting(let due, _) = partition.items[id]?.phase, due <= now { return .joined }
            partition.makeDue(id, now: now)
            return .joined
        }
    }

    package func hint(_ key: WatchKey, of topic: HintTopic) async throws(StoreError) -> Bool {
        changing { state, now in
            let partition = state.queue.partition(of: key.lane)
            guard let item = state.queue[partition].items[key.id] else { return false }
            var token: Int?
            var isReview = false
            switch item.phase {
            case .closed(let reason, _):
                guard Self.opens(reason, topic, item.record, state.flaws) else { return false }
                state.queue[partition].update(key.id) { $0.reopen(from: reason, now: now) }
                isReview = reason == .settled || reason == .reached
            case .waiting: break
            case .leased: token = item.token
            }
            state.queue[partition].update(key.id) { record in
                record.hintedAt = now
                if !isReview { record.keep(topic, during: token) }
            }
            state.queue[partition].makeDue(key.id, now: now)
            return true
        }
    }

    fileprivate static func opens(
        _ reason: ClosedReason,
        _ topic: HintTopic,
        _ record: WatchRecord,
        _ flaws: Set<QueueFlaw>
    ) -> Bool {
        switch reason {
        case .expired, .gone: return !flaws.contains(.leavesExpiredClosed)
        case .settled, .reached:
            if flaws.contains(.reopensSettledWatches) { return true }
            guard let payment = record.payment, !flaws.contains(.ignoresMoneyHints) else {
                return false
            }
            return topic == .money || (topic == .outcome && payment.money == nil)
        case .dead: return record.state.malformed > 0 || flaws.contains(.reopensDeadWatches)
        case .cancelled: return false
        }
    }

    package func cancel(_ key: WatchKey) async throws(StoreError) -> Bool {
        changing { state, now in
            let partition = state.queue.partition(of: key.lane)
            guard state.queue[partition].isOpen(key.id),
                let item = state.queue[partition].items[key.id]
            else { return false }
            let (record, snapshot) = (item.record, item.snapshot)
            let event = Event(
                record.watch,
                status: record.state.status,
                final: true,
                closed: .cancelled,
                payment: snapshot.payment,
                isLive: snapshot.lastEvent?.isLive,
                polledAt: now
            ).carrying(metadata: record.metadata)
            state.queue[partition].update(key.id) { $0.record(event) }
            state.queue[partition].cancel(key.id, .cancelled, now: now)
            state.outbox[partition].append(event, notify: record.notify, now: now)
            state.arrived.insert(partition)
            return true
        }
    }

    package func announce(
        _ notice: MandateNotice,
        of key: WatchKey
    ) async throws(StoreError) -> Bool {
        changing { state, now in
            let partition = state.queue.partition(of: key.lane)
            guard let item = state.queue[partition].items[key.id] else { return false }
            let snapshot = item.snapshot
            if snapshot.closed == .cancelled { return false }
            let event = Event(announcing: notice, of: snapshot, at: now)
                .carrying(metadata: item.record.metadata)
            if item.record.log.contains(where: { $0.id == event.id }) { return true }
            state.queue[partition].update(key.id) {
                $0.announce(event, isClosed: snapshot.closed != nil)
            }
            state.queue[partition].interrupt(key.id, now: now)
            state.outbox[partition].append(event, notify: item.record.notify, now: now)
            state.arrived.insert(partition)
            return true
        }
    }

    package func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        reading { state, _ in
            state.queue[state.queue.partition(of: key.lane)].items[key.id]?.snapshot
        }
    }

    /// Returns a page, the newest first; in quarantine the most recently quarantined first.
    ///
    /// The cursor is the position of the last watch.
    package func list(
        _ query: ListQuery
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let positions = reading { state, _ in
            state.queue.partitions.flatMap {
                query.state == .quarantined ? Self.quarantined($0) : Self.all($0)
            }
        }
        let matching =
            positions
            .filter { $0.position > query.cursor ?? "" && query.matches($0.snapshot) }
            .sorted { $0.position < $1.position }
        let page = matching.prefix(query.limit)
        let next = matching.count > page.count ? page.last?.position : nil
        return ListPage(items: page.map(\.snapshot), next: next, looked: positions.count)
    }

    private static func all(
        _ partition: MemoryPartition<WatchRecord>
    ) -> [(position: String, snapshot: WatchSnapshot)] {
        partition.items.map { id, item in
            (ListPosition.newestFirst(item.snapshot.watch.createdAt, id), item.snapshot)
        }
    }

    private static func quarantined(
        _ partition: MemoryPartition<WatchRecord>
    ) -> [(position: String, snapshot: WatchSnapshot)] {
        partition.quarantine.compactMap { id in
            guard let item = partition.items[id], case .closed(_, let at) = item.phase else {
                return nil
            }
            return (ListPosition.newestFirst(at, id), item.snapshot)
        }
    }

    package func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        reading { state, _ in
            let record = state.queue[state.queue.partition(of: key.lane)].items[key.id]?.record
            return Array((record?.log ?? []).filter { $0.seq > seq }.prefix(max(limit, 0)))
        }
    }

    package func compact(partition: Int, after span: Duration) async throws(StoreError) -> Bool {
        // It packs no events.
        false
    }

    package func removeBodies(
        partition: Int,
        retention: Duration
    ) async throws(StoreError) -> Bool {
        changing { state, now in
            let oldest = state.queue[partition].gap.olderThan(retention, at: now)
            state.queue[partition].change(closedUpTo: oldest) { $0.removeBodies() }
        }
        return false
    }

    package func note(_ note: WatchNote, of key: WatchKey) async throws(StoreError) {
        changing { state, now in
            let partition = state.queue.partition(of: key.lane)
            guard state.queue[partition].items[key.id] != nil else { return }
            state.queue[partition].update(key.id) { $0.note(note, now: now) }
        }
    }

    package func notes(of key: WatchKey) async throws(StoreError) -> [StoredNote] {
        reading { state, _ in
            state.queue[state.queue.partition(of: key.lane)].items[key.id]?.record.notes ?? []
        }
    }

    package func stats() async throws(StoreError) -> StoreStats {
        reading { state, now in
            var stats = state.queue.stats(now: now)
            stats.outbox = state.outbox.reduce(0) { $0 + $1.count }
            stats.undelivered = state.outbox.reduce(0) { $0 + $1.unacknowledgedCount }
            return stats
        }
    }
}

extension MemoryStore.State {
    /// Returns why a request is rejected before anything of its call is written, or `nil`.
    fileprivate func refusal(of new: NewWatch) -> EnqueueRefusal? {
        let partition = queue[queue.partition(of: new.key.lane)]
        guard !flaws.contains(.movesToOtherOrders), partition.isOpen(new.key.id) else {
            return nil
        }
        return partition.items[new.key.id]?.record.otherOrder(than: new.order)
            .map { .otherOrder($0) }
    }

    /// Returns the result of a request, with the current watch.
    fileprivate func result(
        of new: NewWatch,
        _ outcome: EnqueueResult.Outcome,
        isRead: Bool = false,
        showsPayment: Bool = false
    ) -> EnqueueResult {
        let item = queue[queue.partition(of: new.key.lane)].items[new.key.id]
        return EnqueueResult(
            key: new.key,
            outcome: outcome,
            run: item?.record.run ?? 0,
            seq: item?.record.seq ?? 0,
            snapshot: isRead ? item?.snapshot : nil,
            payment: isRead || showsPayment ? item?.snapshot.payment : nil
        )
    }

    /// Returns whether a commit of this lease would be accepted.
    func isHeld(_ ref: LeaseRef) -> Bool {
        queue.hasPartition(ref.partition) && queue[ref.partition].leaseState(of: ref) == .held
    }

    /// Updates the hint of a watch after an accepted commit.
    ///
    /// A hint that the poll has covered is removed. A watch closed without covering its hint is reopened at once.
    mutating func look(at commit: Commit<WatchChange>, now: Timestamp) {
        let (ref, seesMoney, flaws) = (commit.ref, commit.change.seesMoney, self.flaws)
        guard case .close = commit.verdict else {
            if seesMoney { queue[ref.partition].update(ref.id) { $0.forgetSeen(by: ref.token) } }
            return
        }
        guard !flaws.contains(.closesWithUncoveredHints),
            let item = queue[ref.partition].items[ref.id],
            case .closed(let reason, _) = item.phase
        else { return }
        var isOpened = false
        queue[ref.partition].update(ref.id) { record in
            let missed = record.takeMissed(by: ref.token, closing: reason, seesMoney: seesMoney)
            guard let missed, MemoryStore.opens(reason, missed, record, flaws) else {
                return
            }
            record.reopen(from: reason, now: now)
            record.hintedAt = now
            isOpened = true
        }
        if isOpened { queue[ref.partition].makeDue(ref.id, now: now) }
    }
}

/// The position of an item in a list, as text that sorts.
enum ListPosition {
    /// Sorts the newest first: the difference has the same number of digits for some centuries.
    static func newestFirst(_ instant: Timestamp, _ id: ItemID) -> String {
        "\(10_000_000_000_000 - instant.ms):\(id)"
    }
}

extension MemoryPartition {
    /// Returns whether an item exists and is not closed.
    func isOpen(_ id: ItemID) -> Bool {
        switch items[id]?.phase {
        case .waiting, .leased: true
        case .closed, nil: false
        }
    }
}

extension MemoryItem<WatchRecord> {
    /// All data for readers.
    var snapshot: WatchSnapshot {
        var reason: ClosedReason?
        var next: Timestamp?
        switch phase {
        case .waiting(let due, _): next = due
        case .closed(let closed, _): reason = closed
        case .leased: break
        }
        return WatchSnapshot(
            watch: record.watch,
            closed: reason,
            nextPollAt: next,
            lastError: record.lastError,
            notify: record.notify,
            metadata: record.metadata,
            lastEvent: record.log.last
        )
    }
}
