package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import Synchronization

/// Reading the state of deliveries, and retrying them.
extension MemoryDeliveryQueue: DeliveryOperations {
    package func id(of endpoint: EndpointID, _ watch: WatchKey) -> DeliveryID {
        DeliveryID(
            partition: partition(of: LaneID(endpoint: endpoint)),
            item: Delivery.id(endpoint: endpoint, watch: watch)
        )
    }

    package func delivery(
        _ id: DeliveryID,
        of accounts: AccountSet
    ) async throws(StoreError) -> DeliverySnapshot? {
        reading { queue, _ in Self.snapshot(id, in: queue) }.flatMap { snapshot in
            accounts.contains(snapshot.delivery.watch.account) ? snapshot : nil
        }
    }

    package func lastAttempts(
        of ids: [DeliveryID]
    ) async throws(StoreError) -> [DeliveryID: Timestamp] {
        var last: [DeliveryID: Timestamp] = [:]
        for id in ids { last[id] = try await attempts(of: id).last?.at }
        return last
    }

    package func attempts(of id: DeliveryID) async throws(StoreError) -> [AttemptRecord] {
        if flaws.contains(.losesAttempts) { return [] }
        return reading { queue, _ in
            queue.hasPartition(id.partition)
                ? queue[id.partition].items[id.item]?.record.attempts ?? [] : []
        }
    }

    package func deliveries(
        _ query: DeliveryQuery
    ) async throws(StoreError) -> ListPage<DeliverySnapshot> {
        if let cursor = query.cursor, !cursor.contains(":") { throw .unknownCursor }
        let all = reading { queue, _ in
            queue.partitions.flatMap { partition in
                partition.items.compactMap { id, item -> (position: String, DeliverySnapshot)? in
                    let name = DeliveryID(partition: partition.number, item: id)
                    return Self.snapshot(name, in: queue).map { snapshot in
                        (Self.position(of: snapshot, item, query.state), snapshot)
                    }
                }
            }
        }
        let matching = all.filter { $0.position > query.cursor ?? "" && query.matches($0.1) }
            .sorted { $0.position < $1.position }
        let page = matching.prefix(query.limit)
        return ListPage(
            items: page.map(\.1),
            next: matching.count > page.count ? page.last?.position : nil
        )
    }

    /// Returns the position in a list, the newest first.
    ///
    /// Of dead ones, open deliveries come before quarantined ones, the most recently quarantined first.
    private static func position(
        of snapshot: DeliverySnapshot,
        _ item: MemoryItem<Record>,
        _ state: DeliverySnapshot.State?
    ) -> String {
        let id = snapshot.id.item
        if state == .dead, case .closed(_, let at) = item.phase {
            return "b" + ListPosition.newestFirst(at, id)
        }
        return "a" + ListPosition.newestFirst(item.record.createdAt, id)
    }

    package func deadLetters(limit: Int) async throws(StoreError) -> DeadLetters {
        deadLetters(limit: limit) { _ in true }
    }

    package func deadLetters(
        of endpoint: EndpointID,
        limit: Int
    ) async throws(StoreError) -> DeadLetters {
        let home = partition(of: LaneID(endpoint: endpoint))
        return deadLetters(limit: limit) { $0 == home }
    }

    private func deadLetters(limit: Int, in isWanted: (Int) -> Bool) -> DeadLetters {
        reading { queue, _ in
            var found = DeadLetters()
            for partition in queue.partitions where isWanted(partition.number) {
                let dead = partition.items.compactMap { id, item -> (ItemID, EndpointID, Int64)? in
                    guard case .closed(.dead, let at) = item.phase else { return nil }
                    return (id, item.record.delivery.endpoint, at.ms)
                }
                for (id, endpoint, _) in dead.sorted(by: { $0.2 > $1.2 }).prefix(limit) {
                    found.add(DeliveryID(partition: partition.number, item: id), of: endpoint)
                }
                if dead.count > limit { found.markIncomplete() }
            }
            return found
        }
    }

    package func revise(
        _ revisions: [DeliveryRevision],
        endingHolds: Bool
    ) async throws(StoreError) -> [RevisionResult] {
        revise(revisions) { queue, partition, id, lane, now in
            queue[partition].makeDue(id, now: now)
            if endingHolds { queue[partition][lane].health.endHold() }
        }
    }

    package func dismiss(
        _ revisions: [DeliveryRevision]
    ) async throws(StoreError) -> [RevisionResult] {
        revise(revisions) { queue, partition, id, _, _ in
            _ = queue[partition].dismiss(id, as: .settled)
        }
    }

    private func revise(
        _ revisions: [DeliveryRevision],
        then: (inout MemoryQueue<Record>, Int, ItemID, LaneID, Timestamp) -> Void
    ) -> [RevisionResult] {
        changing { queue, now in
            revisions.map { revision in
                let (partition, id) = (revision.id.partition, revision.id.item)
                guard queue.hasPartition(partition), let item = queue[partition].items[id] else {
                    return .missing
                }
                let old = item.record.delivery
                var isBusy = old.state != revision.from
                if case .leased = item.phase { isBusy = true }
                if isBusy, !flaws.contains(.revisesBlindly) { return .busy }
                queue[partition].update(id) { record in
                    record.delivery = Delivery(
                        endpoint: old.endpoint,
                        url: old.url,
                        watch: old.watch,
                        state: revision.to
                    )
                }
                then(&queue, partition, id, item.lane, now)
                return .done
            }
        }
    }

    package func replay(of endpoint: EndpointID) async throws(StoreError) -> ReplayJob? {
        replays.withLock { $0[endpoint.description] }
    }

    package func record(_ job: ReplayJob) async throws(StoreError) {
        replays.withLock { $0[job.endpoint] = job }
    }

    private static func snapshot(
        _ id: DeliveryID,
        in queue: MemoryQueue<Record>
    ) -> DeliverySnapshot? {
        guard queue.hasPartition(id.partition), let item = queue[id.partition].items[id.item] else {
            return nil
        }
        let queueState: DeliverySnapshot.QueueState =
            switch item.phase {
            case .waiting(let due, _): .waiting(due: due)
            case .leased: .leased
            case .closed: .resting
            }
        let givenUpAt: Timestamp? =
            if case .closed(.dead, let at) = item.phase { at } else { nil }
        return DeliverySnapshot(
            id: id,
            delivery: item.record.delivery,
            queueState: queueState,
            lastError: item.record.lastError,
            givenUpAt: givenUpAt
        )
    }
}
