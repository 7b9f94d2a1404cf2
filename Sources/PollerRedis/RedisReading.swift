import Logging
import Poller
import RedisClient

/// What read.lua tells of one item at one moment.
struct ItemReading<Item: Sendable> {
    let item: Item
    let fields: ItemFields
    let long: [LongField: String]
    /// JSON; empty before the first event.
    let newestEvent: String
    /// Nil while it is leased or closed.
    let due: Timestamp?
}

/// Reading single items, and listing them page by page.
extension RedisQueue {
    /// Pages read for one page of the caller, when filters leave most of them empty.
    private static var roundsMax: Int { 20 }

    /// Reads an item; nil when there is none.
    func reading(
        _ id: ItemID,
        partition: Int
    ) async throws(StoreError) -> ItemReading<Record.Item>? {
        let reply = try await redis.run(
            redis.scripts[.read],
            partition: partition,
            [.string(id.description)]
        )
        guard let parts = reply.array, parts.count == 4 else { return nil }
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
            privateValue: (long[.private] ?? "") + (long[.charge].map { "\n" + $0 } ?? "")
        )
        guard let item = Record.item(fields) else {
            throw .corrupt("record of \(id) not understood")
        }
        let due = parts[3].string.flatMap { Double($0) }
        return ItemReading(
            item: item,
            fields: fields,
            long: long,
            newestEvent: parts[2].string ?? "",
            due: due.map { Timestamp(ms: Int64($0)) }
        )
    }

    /// A page of items that `read` makes something of, from a position on; in one lane if named.
    ///
    /// It is short, or empty, and not the last when filters leave little of many.
    func page<Element: Sendable>(
        from start: ListPosition,
        _ span: ListSpan,
        lane: String?,
        limit: Int,
        _ read: (ItemID, Int) async throws(StoreError) -> Element?
    ) async throws(StoreError) -> ListPage<Element> {
        var position = start
        var items: [Element] = []
        for _ in 0..<Self.roundsMax {
            guard position.partition < partitions else {
                return ListPage(items: items, next: nil)
            }
            let at = position
            let reply = try await redis.run(
                redis.scripts[.list],
                partition: at.partition,
                [
                    RedisArgument(limit - items.count), .string(at.phase.rawValue),
                    .string(at.lane), .string(at.score), .string(at.id), .string(lane ?? ""),
                ]
            )
            guard let parts = reply.array, parts.count == 5, let ids = parts[0].array else {
                throw .corrupt("list.lua answered \(reply)")
            }
            for id in ids.compactMap(\.string) {
                do throws(StoreError) {
                    let item = try await read(ItemID(unchecked: id), at.partition)
                    if let item { items.append(item) }
                } catch .corrupt(let reason) {
                    // One record of another release must not hide all the others.
                    redis.logger.error("record not understood", metadata: ["error": "\(reason)"])
                }
            }
            let next = at.following(parts.dropFirst().map { $0.string ?? "" }, in: span)
            guard let next else { return ListPage(items: items, next: nil) }
            position = next
            if items.count >= limit { break }
        }
        return ListPage(items: items, next: position.cursor)
    }
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
