import Logging
import Poller
import RedisClient

/// What read.lua tells of one item at one moment.
struct ItemReading<Item: Sendable> {
    let item: Item
    let fields: ItemFields
    let long: [LongField: String]
    /// As it is in the log; empty before the first event.
    let newestEvent: [UInt8]
    /// Nil while it is leased or closed.
    let due: Timestamp?
    /// When it was set aside; nil while it is not.
    let asideSince: Timestamp?
}

/// Reading items, and listing them page by page.
extension RedisQueue {
    /// Items looked at for one page: a tenth of a second, most of it ours and not Redis'.
    static var looksMax: Int { 2000 }
    /// Calls made for one page, also where there is nothing: all partitions of a large cluster.
    private static var callsMax: Int { 160 }
    /// Items read by one call: about a millisecond of Redis.
    private static var readMax: Int { 128 }

    /// Reads an item; nil when there is none of these accounts.
    func reading(
        _ id: ItemID,
        partition: Int,
        of accounts: AccountSet = .all
    ) async throws(StoreError) -> ItemReading<Record.Item>? {
        let reply = try await redis.run(
            redis.scripts[.read],
            partition: partition,
            [.string(accounts.inScripts), .string(id.description)]
        )
        return try reply.array?.first.flatMap { reading throws(StoreError) in
            try self.reading(id, reading)
        }
    }

    /// Reads an item of a lane; nil when there is none.
    func reading(
        _ id: ItemID,
        in lane: LaneID
    ) async throws(StoreError) -> ItemReading<Record.Item>? {
        let reply = try await redis.run(
            redis.scripts[.read],
            of: lane,
            [.string(AccountSet.all.inScripts), .string(id.description)]
        )
        return try reply.array?.first.flatMap { reading throws(StoreError) in
            try self.reading(id, reading)
        }
    }

    /// Reads items of a partition, in their order; nil for those that are gone.
    ///
    /// One record of another release must not hide all the others: what is not understood is nil, too.
    func readings(
        _ ids: [ItemID],
        partition: Int
    ) async throws(StoreError) -> [ItemReading<Record.Item>?] {
        var readings: [ItemReading<Record.Item>?] = []
        for start in stride(from: 0, to: ids.count, by: Self.readMax) {
            let part = ids[start..<min(start + Self.readMax, ids.count)]
            let reply = try await redis.run(
                redis.scripts[.read],
                partition: partition,
                [.string(AccountSet.all.inScripts)] + part.map { .string($0.description) }
            )
            guard let found = reply.array, found.count == part.count else {
                throw .corrupt("read.lua answered \(reply)")
            }
            for (id, value) in zip(part, found) {
                do throws(StoreError) {
                    readings.append(try reading(id, value))
                } catch {
                    redis.logger.error("record not understood", metadata: ["error": "\(error)"])
                    readings.append(nil)
                }
            }
        }
        return readings
    }

    /// Reads what read.lua answers of one item.
    private func reading(
        _ id: ItemID,
        _ value: RedisValue
    ) throws(StoreError) -> ItemReading<Record.Item>? {
        guard let parts = value.array, parts.count == 5 else { return nil }
        var long: [LongField: String] = [:]
        let pairs = parts[1].array ?? []
        for index in stride(from: 0, to: pairs.count - 1, by: 2) {
            guard let field = pairs[index].string.flatMap(LongField.init(rawValue:)) else {
                continue
            }
            long[field] = pairs[index + 1].string ?? ""
        }
        let fields = ItemFields(
            id: id.description,
            lane: "",
            short: parts[0].array ?? [],
            // As claim.lua puts them together.
            privateValue: (long[.private] ?? "") + (long[.charge].map { "\n" + $0 } ?? ""),
            masterKeys: redis.masterKeys
        )
        guard let item = Record.item(fields) else {
            throw .corrupt("record of \(id) not understood")
        }
        let due = parts[3].string.flatMap { Double($0) }
        return ItemReading(
            item: item,
            fields: fields,
            long: long,
            newestEvent: parts[2].bytes ?? [],
            due: due.map { Timestamp(ms: Int64($0)) },
            asideSince: parts[4].string.flatMap { Double($0) }.map { Timestamp(ms: Int64($0)) }
        )
    }

    /// A page of items that `read` makes something of, from a position on; in one lane if named.
    ///
    /// It is short, or empty, and not the last when filters leave little of many. `batch`: how many
    /// items are looked at in one go, where few of them are expected to pass.
    ///
    /// What is of other accounts is passed in the store and counts for nothing here: neither the length
    /// of a page nor whether there is a next one tells that there is something.
    func page<Element: Sendable>(
        from start: ListPosition,
        _ span: ListSpan,
        lane: String?,
        accounts: AccountSet = .all,
        limit: Int,
        batch: Int = 1,
        _ read: ([ItemID], Int) async throws(StoreError) -> [Element?]
    ) async throws(StoreError) -> ListPage<Element> {
        var position = start
        var items: [Element] = []
        var (looked, calls) = (0, 0)
        while looked < Self.looksMax, calls < Self.callsMax {
            guard position.partition < partitions else {
                return ListPage(items: items, next: nil, looked: looked)
            }
            let at = position
            let wanted = limit - items.count
            if wanted <= 0 {
                // Whether something follows must not hang on what others have: it is looked for.
                guard !accounts.isAll else { break }
                let (ids, place) = try await ids(from: at, lane: lane, of: accounts, 1)
                calls += 1
                guard ids.isEmpty else { break }
                guard let next = at.following(place, in: span) else {
                    return ListPage(items: items, next: nil, looked: looked)
                }
                position = next
                continue
            }
            let most = max(wanted, batch)
            var (ids, place) = try await ids(from: at, lane: lane, of: accounts, most)
            var found = try await read(ids, at.partition)
            // More than the page holds: those behind its last one are looked at again by the next.
            if let last = found.indices.filter({ found[$0] != nil }).dropFirst(wanted).first {
                found = Array(found[..<last])
                (ids, place) = try await self.ids(from: at, lane: lane, of: accounts, last)
                if ids.count < found.count { found = Array(found[..<ids.count]) }
            }
            items += found.compactMap(\.self)
            looked += ids.count
            calls += 1
            guard let next = at.following(place, in: span) else {
                return ListPage(items: items, next: nil, looked: looked)
            }
            position = next
        }
        return ListPage(items: items, next: position.cursor, looked: looked)
    }

    /// Up to so many ids from a position on, and the place behind them.
    private func ids(
        from position: ListPosition,
        lane: String?,
        of accounts: AccountSet,
        _ count: Int
    ) async throws(StoreError) -> ([ItemID], [String]) {
        let reply = try await redis.run(
            redis.scripts[.list],
            partition: position.partition,
            [
                RedisArgument(count), .string(position.phase.rawValue), .string(position.lane),
                .string(position.score), .string(position.id), .string(lane ?? ""),
                .string(accounts.inScripts),
            ]
        )
        guard let parts = reply.array, parts.count == 5, let ids = parts[0].array else {
            throw .corrupt("list.lua answered \(reply)")
        }
        return (
            ids.compactMap { $0.string.map(ItemID.init(unchecked:)) },
            parts.dropFirst().map { $0.string ?? "" }
        )
    }
}

extension AccountSet {
    /// The accounts as scripts are given them: each between spaces, or nothing for all.
    var inScripts: String { names.map { " \($0.joined(separator: " ")) " } ?? "" }
}

/// Where a listing stands: the partition, the phase in it, and the last item of the page before.
///
/// *Shape* as cursor: base64url of `partition|phase|lane|score|id`. It holds nothing secret and
/// a forged one only lists from elsewhere.
struct ListPosition: Hashable {
    /// What is listed one after the other, by the kind of key that list.lua walks through.
    enum Phase: String {
        case leased = "r"
        case waiting = "z"
        case closed = "h"
        case quarantine = "x"
    }

    var partition: Int
    var phase: Phase
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
            let phase = Phase(rawValue: parts[1])
        else { return nil }
        self.init(partition: partition, state: nil)
        (self.phase, lane, score, id) = (phase, parts[2], parts[3], parts[4])
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

    /// The start of a listing of watches.
    init(of state: ListQuery.State?) {
        self.init(partition: 0, state: state)
    }

    private init(partition: Int, state: ListQuery.State?) {
        self.partition = partition
        phase =
            switch state {
            case .closed: .closed
            case .quarantined: .quarantine
            case .open, nil: .leased
            }
        (lane, score, id) = ("", "", "")
    }

    var cursor: String {
        Base64URL.encode(Packed.join([String(partition), phase.rawValue, lane, score, id]).utf8)
    }

    /// The position list.lua answered: {phase, lane, score, id}.
    ///
    /// An exhausted partition is followed by the next of `span`; those that come after the open ones
    /// follow the open ones of all partitions.
    func following(_ reply: [String], in span: ListSpan) -> ListPosition? {
        var next = self
        (next.lane, next.score, next.id) = (reply[1], reply[2], reply[3])
        if let phase = Phase(rawValue: reply[0]) {
            next.phase = phase
            return next
        }
        if phase == .waiting { next.phase = .leased }
        next.partition += 1
        if next.partition < span.end { return next }
        if let afterOpen = span.afterOpen, next.phase == .leased {
            (next.partition, next.phase) = (span.home, afterOpen)
            return next
        }
        return nil
    }
}

/// What a listing walks through.
struct ListSpan {
    /// The first partition and the one after the last.
    let home: Int
    let end: Int
    /// What is listed once the open ones of all partitions are; nil to end there.
    let afterOpen: ListPosition.Phase?
}
