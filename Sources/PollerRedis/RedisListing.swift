import Poller
import RedisClient

/// Listing items, page by page.
extension RedisQueue {
    /// Items looked at for one page: a tenth of a second, most of it ours and not Redis'.
    static var looksMax: Int { 2000 }
    /// Calls made for one page, also where there is nothing: all partitions of a large cluster.
    private static var callsMax: Int { 160 }

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
            guard position.step < position.steps else {
                return ListPage(items: items, next: nil, looked: looked)
            }
            let at = position
            let wanted = limit - items.count
            if wanted <= 0 {
                // Whether something follows must not hang on what others have: it is looked for.
                guard !accounts.isAll else { break }
                let slice = try await redis.steadily { () throws(StoreError) in
                    try await self.slice(from: at, lane: lane, of: accounts, 1)
                }
                calls += slice.calls
                guard slice.items.isEmpty else { break }
                guard let next = at.following(slice.end, in: span) else {
                    return ListPage(items: items, next: nil, looked: looked)
                }
                position = next
                continue
            }
            let most = max(wanted, batch)
            let (slice, found) = try await redis.steadily {
                () throws(StoreError) -> (ListSlice, [Element?]) in
                var slice = try await self.slice(from: at, lane: lane, of: accounts, most)
                var found = try await self.read(slice, read)
                // More than the page holds: those behind its last one are looked at again by the next.
                if let last = found.indices.filter({ found[$0] != nil }).dropFirst(wanted).first {
                    found = Array(found[..<last])
                    slice = try await self.slice(from: at, lane: lane, of: accounts, last)
                    if slice.items.count < found.count {
                        found = Array(found[..<slice.items.count])
                    }
                }
                return (slice, found)
            }
            items += found.compactMap(\.self)
            looked += slice.items.count
            calls += slice.calls
            guard let next = at.following(slice.end, in: span) else {
                return ListPage(items: items, next: nil, looked: looked)
            }
            position = next
        }
        return ListPage(items: items, next: position.cursor, looked: looked)
    }

    /// Reads items of one partition or of several, in their order.
    private func read<Element: Sendable>(
        _ slice: ListSlice,
        _ read: ([ItemID], Int) async throws(StoreError) -> [Element?]
    ) async throws(StoreError) -> [Element?] {
        var found = [Element?](repeating: nil, count: slice.items.count)
        let places = Dictionary(grouping: slice.items.indices) { slice.items[$0].partition }
        for (partition, indices) in places {
            let elements = try await read(indices.map { slice.items[$0].id }, partition)
            for (index, element) in zip(indices, elements) { found[index] = element }
        }
        return found
    }

    /// Up to so many items from a position on, and the place behind them.
    ///
    /// Of a step whose partition was split since the list began all parts are read from that position on, and what
    /// they tell is put in the order in which it was told before.
    private func slice(
        from position: ListPosition,
        lane: String?,
        of accounts: AccountSet,
        _ count: Int
    ) async throws(StoreError) -> ListSlice {
        let map = redis.keys.map
        let partitions =
            lane.map { [map.partition(of: $0)] }
            ?? map.parts(of: position.step, among: position.steps)
        var items: [ListSlice.Item] = []
        var ends: [ListPlace] = []
        for partition in partitions {
            let (found, end) = try await ids(
                from: position,
                partition,
                lane,
                of: accounts,
                count,
                isMixed: partitions.count > 1
            )
            items += found
            if let end { ends.append(end) }
        }
        guard partitions.count > 1 else {
            return ListSlice(items: items, end: ends.first, calls: 1)
        }
        // Behind the end of one part something may stand before what others have told.
        let horizon = ends.min()
        let told = items.filter { item in horizon.map { item.place <= $0 } ?? true }
            .sorted { $0.place < $1.place }
        guard told.count > count else {
            return ListSlice(items: told, end: horizon, calls: partitions.count)
        }
        return ListSlice(
            items: Array(told.prefix(count)),
            end: told[count - 1].place,
            calls: partitions.count
        )
    }

    /// Up to so many ids of a partition, and the place behind them; nil when it has no more.
    ///
    /// Where each stands is told of those that are mixed with others.
    private func ids(
        from position: ListPosition,
        _ partition: Int,
        _ lane: String?,
        of accounts: AccountSet,
        _ count: Int,
        isMixed: Bool
    ) async throws(StoreError) -> ([ListSlice.Item], end: ListPlace?) {
        let place = position.place
        let reply = try await redis.run(
            redis.scripts[.list],
            partition: partition,
            [
                RedisArgument(count), .string(place.phase.rawValue), .string(place.lane),
                .string(place.score), .string(place.id), .string(lane ?? ""),
                .string(accounts.inScripts), isMixed ? "1" : "",
            ]
        )
        guard let parts = reply.array, parts.count >= 5, let ids = parts[0].array else {
            throw .corrupt("list.lua answered \(reply)")
        }
        let places = parts.dropFirst(5).first?.array ?? []
        let end = ListPlace(parts[1...4].map { $0.string ?? "" })
        var items: [ListSlice.Item] = []
        for (index, id) in ids.compactMap(\.string).enumerated() {
            let stands = (places.indices.contains(index) ? places[index].array : nil) ?? []
            let known = ListPlace(stands.map { $0.string ?? "" } + [id])
            items.append(
                ListSlice.Item(
                    partition: partition,
                    id: ItemID(unchecked: id),
                    place: known ?? place
                )
            )
        }
        return (items, end)
    }
}

/// Some items of a list, and where they end.
struct ListSlice {
    /// One of them.
    struct Item {
        let partition: Int
        let id: ItemID
        let place: ListPlace
    }

    let items: [Item]
    /// Nil when the step has no more.
    let end: ListPlace?
    /// What it took.
    let calls: Int
}

/// Where an item stands among those of a partition, as list.lua walks through them.
struct ListPlace: Hashable, Comparable {
    var phase: ListPosition.Phase
    /// The lane and its wheel; empty but among those that wait.
    var lane: String
    var score: String
    var id: String

    init(_ phase: ListPosition.Phase) { (self.phase, lane, score, id) = (phase, "", "", "") }

    /// {phase, lane, score, id}; nil for no place.
    init?(_ parts: [String]) {
        guard parts.count == 4, let phase = ListPosition.Phase(rawValue: parts[0]) else {
            return nil
        }
        (self.phase, lane, score, id) = (phase, parts[1], parts[2], parts[3])
    }

    /// Whether Redis takes this as the score of a member of a sorted set.
    static func isScore(_ text: String) -> Bool {
        Double(text).map { !$0.isNaN } ?? false
    }

    /// As the list goes: leased ones before those that wait, and by bytes, as a sorted set orders its members.
    static func < (one: Self, other: Self) -> Bool {
        if one.phase != other.phase { return one.phase == .leased }
        if one.lane != other.lane {
            let (left, right) = (one.lane.dropLast(), other.lane.dropLast())
            if left != right { return precedes(left, right) }
            return precedes(one.lane.suffix(1), other.lane.suffix(1))
        }
        // The beginning of a lane has no score yet.
        let (left, right) = (Double(one.score) ?? -.infinity, Double(other.score) ?? -.infinity)
        return left == right ? precedes(one.id[...], other.id[...]) : left < right
    }

    private static func precedes(_ one: Substring, _ other: Substring) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}

/// Where a listing stands: how many steps it takes, in which it is, and the last item of the page before.
///
/// A step is a partition of those that there were when the list began. What such a one was split into since is the
/// same step, and an item keeps its place in it: so what was told is behind a place, and all else before it, however
/// often the store was given more partitions.
///
/// *Shape* as cursor: base64url of `step|phase|lane|score|id|steps`. It holds nothing secret and
/// a forged one only lists from elsewhere.
struct ListPosition: Hashable {
    /// What is listed one after the other, by the kind of key that list.lua walks through.
    enum Phase: String {
        case leased = "r"
        case waiting = "z"
        case closed = "h"
        case quarantine = "x"
    }

    private(set) var step: Int
    let steps: Int
    private(set) var place: ListPlace

    /// The start of a listing, or the place a cursor names; nil for a cursor that is none of ours.
    ///
    /// `only`: the lane, when what is of one alone is listed.
    init?(
        cursor: String?,
        _ phase: Phase = .leased,
        of map: PartitionMap,
        only lane: String? = nil
    ) {
        guard let cursor else {
            self.init(phase, of: map, only: lane)
            return
        }
        guard let bytes = Base64URL.decode(cursor) else { return nil }
        let parts = Packed.split(String(decoding: bytes, as: UTF8.self))
        // The release before knew no others than a store is made with.
        guard (5...6).contains(parts.count), let step = Int(count: parts[0]),
            let steps = parts.count == 6 ? Int(count: parts[5]) : map.base,
            map.hasStep(step, among: steps), let place = ListPlace(Array(parts[1...4])),
            place.id.isEmpty || ListPlace.isScore(place.score),
            lane.map({ map.finalPartition(of: $0) % steps == step }) ?? true
        else { return nil }
        self.init(step: step, steps: steps, place: place)
    }

    /// The start of a listing.
    init(_ phase: Phase, of map: PartitionMap, only lane: String? = nil) {
        self.init(
            step: lane.map { map.finalPartition(of: $0) % map.steps } ?? 0,
            steps: map.steps,
            place: ListPlace(phase)
        )
    }

    private init(step: Int, steps: Int, place: ListPlace) {
        (self.step, self.steps, self.place) = (step, steps, place)
    }

    var cursor: String {
        let parts = [place.phase.rawValue, place.lane, place.score, place.id]
        return Base64URL.encode(Packed.join([String(step)] + parts + [String(steps)]).utf8)
    }

    /// The position behind what a slice has told; its end is nil where the step has no more.
    ///
    /// An exhausted step is followed by the next of `span`; those that come after the open ones
    /// follow the open ones of all steps.
    func following(_ end: ListPlace?, in span: ListSpan) -> ListPosition? {
        var next = self
        if let end {
            next.place = end
            return next
        }
        next.place = ListPlace(place.phase == .waiting ? .leased : place.phase)
        next.step += 1
        if !span.isOfOneLane, next.step < steps { return next }
        if let afterOpen = span.afterOpen, next.place.phase == .leased {
            next.step = span.isOfOneLane ? step : 0
            next.place = ListPlace(afterOpen)
            return next
        }
        return nil
    }
}

/// What a listing walks through.
struct ListSpan {
    /// The one step in which its lane is, or all.
    let isOfOneLane: Bool
    /// What is listed once the open ones of all steps are; nil to end there.
    let afterOpen: ListPosition.Phase?
}
