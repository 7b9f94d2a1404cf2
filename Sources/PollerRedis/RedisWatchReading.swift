import Logging
package import Poller
import RedisClient

extension RedisWatchStore {
    /// Pages read for one page of the caller, when filters leave most of them empty.
    private static var roundsMax: Int { 20 }

    package func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot? {
        try await snapshot(id: key.id.description, partition: partition(of: key))
    }

    package func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        let reply = try await queue.run(
            queue.scripts.log,
            partition: partition(of: key),
            [.string("\(key.id)"), RedisArgument(max(seq, 0)), RedisArgument(max(limit, 1))]
        )
        return (reply.array ?? []).compactMap { $0.string.flatMap(Event.init(json:)) }
    }

    package func list(
        _ query: ListQuery
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        var position = ListPosition(cursor: query.cursor, state: query.state)
        if position == nil { throw .unknownCursor }
        var items: [WatchSnapshot] = []
        for _ in 0..<Self.roundsMax {
            guard let at = position, at.partition < partitions else {
                return ListPage(items: items, next: nil)
            }
            let reply = try await queue.run(
                queue.scripts.list,
                partition: at.partition,
                [
                    RedisArgument(query.limit - items.count), .string(at.phase), .string(at.lane),
                    .string(at.score), .string(at.id), "",
                ]
            )
            guard let parts = reply.array, parts.count == 5, let ids = parts[0].array else {
                throw .corrupt("list.lua answered \(reply)")
            }
            for id in ids {
                let id = id.string ?? ""
                do throws(StoreError) {
                    let snapshot = try await snapshot(id: id, partition: at.partition)
                    if let snapshot, query.matches(snapshot) { items.append(snapshot) }
                } catch .corrupt(let reason) {
                    // One record of another release must not hide all the others.
                    queue.logger.error("record not understood", metadata: ["error": "\(reason)"])
                }
            }
            position = at.following(
                parts.dropFirst().map { $0.string ?? "" },
                afterOpen: query.state == nil ? "h" : nil,
                partitions: partitions
            )
            if items.count >= query.limit { break }
        }
        return ListPage(items: items, next: position?.cursor)
    }

    private func snapshot(
        id: String,
        partition: Int
    ) async throws(StoreError) -> WatchSnapshot? {
        let reply = try await queue.run(
            queue.scripts.read,
            partition: partition,
            [.string(id)]
        )
        guard let parts = reply.array, parts.count == 4 else { return nil }
        let long = Packed.pairs(parts[1])
        let fields = ItemFields(
            id: id,
            lane: "",
            short: parts[0].array ?? [],
            privateValue: (long["p"] ?? "") + (long["k"].map { "\n" + $0 } ?? "")
        )
        guard let watch = WatchRecord.item(fields) else {
            throw .corrupt("record of \(id) not understood")
        }
        return WatchSnapshot(
            watch: watch,
            closed: fields.closed.flatMap(ClosedReason.init(rawValue:)),
            nextPollAt: parts[3].string.flatMap { Double($0) }.map { Timestamp(ms: Int64($0)) },
            lastError: long["y"],
            notify: OutboxRecord.notify(long["n"] ?? ""),
            metadata: long["m"] ?? "",
            lastEvent: parts[2].string.flatMap(Event.init(json:))
        )
    }
}

/// What operators ask about single watches.
extension RedisWatchStore {
    package func redrive(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await queue.run(
            queue.scripts.redrive,
            partition: partition(of: key),
            [.string(key.id.description)]
        ).int == 1
    }

    package func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation? {
        guard let snapshot = try await snapshot(of: key) else { return nil }
        let reply = try await queue.run(
            queue.scripts.explain,
            partition: partition(of: key),
            [.string(key.id.description)]
        )
        guard let parts = reply.array else { throw .corrupt("explain.lua answered \(reply)") }
        if parts.isEmpty { return nil }
        guard parts.count >= 3, let lane = parts[0].string, let place = place(parts) else {
            throw .corrupt("the watch is in no place: run fsck")
        }
        let report = try await queue.report(on: LaneID(unchecked: lane))
        return Explanation(
            snapshot: snapshot,
            place: place,
            lane: report,
            limit: report.limit ?? limit,
            crashes: parts[1].int ?? 0
        )
    }

    /// Reads explain.lua's answer: {lane, crashes, place, …}.
    private func place(_ parts: [RedisValue]) -> Explanation.Place? {
        func time(_ index: Int) -> Timestamp { Timestamp(ms: Int64(parts[index].int ?? 0)) }
        switch (parts[2].string, parts.count) {
        case ("waiting", 6):
            return .waiting(
                due: time(3),
                isUrgent: parts[4].string == "u",
                ahead: parts[5].int ?? 0
            )
        case ("leased", 5):
            return .leased(owner: OwnerID(unchecked: parts[3].string ?? ""), until: time(4))
        case ("closed", 4):
            return parts[3].string.flatMap(ClosedReason.init(rawValue:)).map { .closed($0) }
        default: return nil
        }
    }
}

/// Where a listing stands: the partition, the phase in it, and the last item of the page before.
///
/// *Shape* as cursor: base64url of `partition|phase|lane|score|id`. It holds nothing secret and
/// a forged one only lists from elsewhere.
struct ListPosition: Hashable {
    var partition: Int
    /// `r` leased, `z` waiting, `h` closed, `x` quarantined.
    var phase: String
    var lane: String
    var score: String
    var id: String

    /// The start of a listing, or the place a cursor names; nil for a cursor that is none of ours.
    init?(cursor: String?, state: ListQuery.State?) {
        guard let cursor else {
            self.init(partition: 0, state: state)
            return
        }
        guard let bytes = Base64URL.decode(cursor) else { return nil }
        let parts = Packed.split(String(decoding: bytes, as: UTF8.self))
        guard parts.count == 5, let partition = Int(parts[0]), partition >= 0,
            ["r", "z", "h", "x"].contains(parts[1])
        else { return nil }
        self.init(partition: partition, state: nil)
        (phase, lane, score, id) = (parts[1], parts[2], parts[3], parts[4])
    }

    /// The start of a listing of deliveries, or the place a cursor names; nil for a cursor that is
    /// none of ours.
    ///
    /// In `home` alone when they are those of one endpoint.
    init?(cursor: String?, of state: DeliverySnapshot.State?, in home: Int?) {
        self.init(cursor: cursor, state: state == .done ? .closed : .open)
        if cursor == nil { partition = home ?? 0 }
        if let home, partition != home { return nil }
    }

    private init(partition: Int, state: ListQuery.State?) {
        self.partition = partition
        phase =
            switch state {
            case .closed: "h"
            case .quarantined: "x"
            case .open, nil: "r"
            }
        (lane, score, id) = ("", "", "")
    }

    var cursor: String {
        Base64URL.encode(Packed.join([String(partition), phase, lane, score, id]).utf8)
    }

    /// The position list.lua answered: {phase, lane, score, id}.
    ///
    /// An exhausted partition is followed by the next; with `afterOpen`, those in that phase of all
    /// partitions from `home` on follow the open ones of all.
    func following(
        _ reply: [String],
        afterOpen: String?,
        partitions: Int,
        home: Int = 0
    ) -> ListPosition? {
        var next = self
        (next.phase, next.lane, next.score, next.id) = (reply[0], reply[1], reply[2], reply[3])
        guard next.phase.isEmpty else { return next }
        next.phase = phase == "z" ? "r" : phase
        next.partition += 1
        if next.partition < partitions { return next }
        if let afterOpen, next.phase == "r" {
            (next.partition, next.phase) = (home, afterOpen)
            return next
        }
        return nil
    }
}
