package import PollerIdentity
package import PollerPayments
package import PollerQueue
package import PollerWatches
import RedisClient

/// The queue of watches and their logs in Redis.
package struct RedisWatchStore: WatchStore, LaneControl, Auditing, RedisQueue {
    package typealias Item = Watch
    package typealias Change = WatchChange

    typealias Record = WatchRecord

    let redis: RedisPartitions
    let circuit = CircuitHold.upstream
    /// The reads of logs that have begun, and those that wait for replicas.
    private let plainReads = LogReadBatcher()
    private let confirmedReads = LogReadBatcher()
    private let unreadable: UnreadableEvents
    /// The single requests to enqueue that wait for a call of another.
    let batcher = EnqueueBatcher()
    /// The metadata by which watches are found.
    package let searchKeys: SearchKeys

    /// Creates the watch store of a cluster; `search` names the metadata by which watches are found.
    package init(_ redis: RedisPartitions, search: SearchKeys = .standard) {
        self.redis = redis
        searchKeys = search
        unreadable = UnreadableEvents(logger: redis.logger)
    }

    package func hint(_ key: WatchKey, of topic: HintTopic) async throws(StoreError) -> Bool {
        let code: HintCode =
            switch topic {
            case .anything: .anything
            case .outcome: .outcome
            case .money: .money
            }
        return try await redis.run(
            .hint,
            of: key.lane,
            [.string(key.id.description), .string(code.rawValue)]
        ).int == 1
    }

    package func cancel(_ key: WatchKey) async throws(StoreError) -> Bool {
        // The event is created here with its seq. If a poll records another one in between, this is repeated.
        for _ in 0..<16 {
            guard let snapshot = try await snapshot(of: key), snapshot.closed == nil else {
                return false
            }
            let event = Event(
                watch: snapshot.watch,
                status: snapshot.watch.state.status,
                final: true,
                closed: .cancelled,
                payment: snapshot.payment,
                isLive: snapshot.lastEvent?.isLive,
                object: nil,
                polledAt: try await now(),
                lag: .zero
            )
            do throws(StoreError) {
                return try await redis.run(
                    .cancel,
                    of: key.lane,
                    [
                        .string(key.id.description), RedisArgument(event.seq),
                        .string(redis.keys.events(of: "\(key.source)")),
                    ] + redis.recordArguments(event)
                ).int == 1
            } catch .outOfOrder {
                continue
            }
        }
        throw .unavailable("the watch changes faster than it can be cancelled; try again")
    }

    package func announce(
        _ notice: MandateNotice,
        of key: WatchKey
    ) async throws(StoreError) -> Bool {
        // As in a cancellation, the event has a seq.
        for _ in 0..<16 {
            guard let snapshot = try await snapshot(of: key) else { return false }
            let event = Event(announcing: notice, of: snapshot, at: try await now())
            // Read after the snapshot: if the script finds no event in between, this was the whole log.
            let log = try await events(of: key, after: 0, limit: 100)
            if log.contains(where: { $0.id == event.id }) { return true }
            do throws(StoreError) {
                return try await redis.run(
                    .announce,
                    of: key.lane,
                    [
                        .string(key.id.description), RedisArgument(event.seq),
                        RedisArgument(event.run),
                        .string(redis.keys.events(of: "\(key.source)")),
                        snapshot.closed == nil ? "0" : "1",
                    ] + redis.recordArguments(event),
                    isDurable: true
                ).int == 1
            } catch .outOfOrder {
                continue
            }
        }
        throw .unavailable("the watch changes faster than it can be told of; try again")
    }

    package func partition(of key: WatchKey) -> Int {
        redis.keys.partition(of: key.lane.description)
    }

    private func now() async throws(StoreError) -> Timestamp {
        let time = try await redis.client.execute(RedisCommand("TIME")).array?.compactMap(\.int)
        guard let time, time.count == 2 else { throw StoreError(.protocolError("TIME")) }
        return Timestamp(time: time)
    }
}

extension RedisWatchStore {
    package func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await readItem(key.id, in: key.lane).map(WatchSnapshot.init)
    }

    package func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        try await events(LogRead(key: key, seq: seq, limit: limit), isConfirmed: false)
    }

    package func deliverableEvents(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        try await events(
            LogRead(key: key, seq: seq, limit: limit),
            isConfirmed: redis.durability != nil
        )
    }

    /// Reads until there are enough events that are understood, or the log ends.
    ///
    /// Callers take a shorter list for the end of the log.
    private func events(
        _ first: LogRead,
        isConfirmed: Bool
    ) async throws(StoreError) -> [Event] {
        var events: [Event] = []
        var next: LogRead? = first
        while let read = next {
            let part = read.events(
                in: try await reply(to: read, isConfirmed: isConfirmed),
                unreadable
            )
            events += part.events
            next = part.rest
        }
        return Array(events.prefix(max(first.limit, 1)))
    }

    package func deliverableLog(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [LoggedEvent] {
        let read = LogRead(key: key, seq: seq, limit: limit)
        let reply = try await reply(to: read, isConfirmed: redis.durability != nil)
        return read.log(in: reply, unreadable)
    }

    private func reply(
        to read: LogRead,
        isConfirmed: Bool
    ) async throws(StoreError) -> RedisValue {
        let batcher = isConfirmed ? confirmedReads : plainReads
        return try await batcher.reply(to: read, partition: partition(of: read.key)) {
            reads throws(StoreError) in
            try await replies(to: reads, isConfirmed: isConfirmed)
        }
    }

    /// Reads several logs, with one call for each partition, and returns one reply for each.
    private func replies(
        to reads: [LogRead],
        isConfirmed: Bool
    ) async throws(StoreError) -> [RedisValue] {
        var replies = Array(repeating: RedisValue.null, count: reads.count)
        try await redis.run(
            isConfirmed ? .logConfirmed : .log,
            for: reads.map(\.key.lane),
            isDurable: isConfirmed
        ) { group in
            group.flatMap { reads[$0].arguments }
        } _: { group, reply throws(StoreError) in
            guard let parts = reply.array, parts.count == group.count else {
                throw .corrupt("log.lua answered \(reply)")
            }
            for (index, part) in zip(group, parts) { replies[index] = part }
        }
        return replies
    }
}

extension WatchSnapshot {
    init(_ stored: StoredItem<Watch>) {
        self.init(
            watch: stored.item,
            closed: stored.fields.closed.flatMap(ClosedReason.init(rawValue:)),
            nextPollAt: stored.due,
            lastError: stored.long[.error],
            notify: OutboxRecord.notify(stored.long[.notify] ?? ""),
            metadata: stored.long[.metadata] ?? "",
            lastEvent: PackedEvent.events(stored.newestEvent, of: stored.item.key).last
        )
    }
}

/// Operators' requests about single watches.
extension RedisWatchStore {
    package func redrive(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await redis.run(.redrive, of: key.lane, [.string(key.id.description)]).int == 1
    }

    package func dismiss(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await redis.run(.dismiss, of: key.lane, [.string(key.id.description)]).int == 1
    }

    package func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation? {
        guard let snapshot = try await snapshot(of: key) else { return nil }
        let reply = try await redis.run(.explain, of: key.lane, [.string(key.id.description)])
        guard let parts = reply.array else { throw .corrupt("explain.lua answered \(reply)") }
        if parts.isEmpty { return nil }
        guard parts.count >= 3, let lane = parts[0].string, let queueState = queueState(parts)
        else {
            throw .corrupt("the watch is in no place: run fsck")
        }
        let report = try await report(on: LaneID(unchecked: lane))
        return Explanation(
            snapshot: snapshot,
            queueState: queueState,
            lane: report,
            limit: report.limit ?? limit,
            crashes: parts[1].count ?? 0
        )
    }

    /// Reads explain.lua's reply: {lane, crashes, place, …}.
    private func queueState(_ parts: [RedisValue]) -> Explanation.QueueState? {
        func time(_ index: Int) -> Timestamp { parts[index].time ?? Timestamp(ms: 0) }
        switch (parts[2].string, parts.count) {
        case ("waiting", 6):
            return .waiting(
                due: time(3),
                isUrgent: parts[4].string == KeyKind.urgent.rawValue,
                ahead: parts[5].count ?? 0
            )
        case ("leased", 5):
            return .leased(owner: OwnerID(unchecked: parts[3].string ?? ""), until: time(4))
        case ("closed", 4):
            return parts[3].string.flatMap(ClosedReason.init(rawValue:)).map { .closed($0) }
        default: return nil
        }
    }
}
