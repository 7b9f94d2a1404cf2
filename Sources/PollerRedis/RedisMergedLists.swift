import Poller
import PollerQueue
import RedisClient

/// Where an item is in a list that is merged from all partitions; `<` is the order of the list.
protocol MergedPlace: Comparable, Sendable {
    /// The beginning of the list.
    static var start: Self { get }
    /// The item.
    var id: ItemID { get }
}

/// An item of a merged list.
struct MergedItem<Place: MergedPlace>: Sendable {
    let partition: Int
    let place: Place
}

/// Lists that are merged from all partitions by the place of each item.
extension RedisQueue {
    /// Rounds over all partitions for one page.
    private static var mergedRoundsMax: Int { 20 }
    /// Records read for one page: a tenth of a second, most of it ours and not Redis'.
    static var mergedLooksMax: Int { 2000 }

    /// A page of items behind a place, of which `read` makes something or leaves out.
    ///
    /// - Parameters:
    ///   - start: the place of the last item of the page before.
    ///   - limit: most items.
    ///   - batch: items read in one go.
    ///   - isNarrowed: whether items of other accounts are left out. Then whether there is a next page does not depend on
    ///     them.
    ///   - slice: reads so many items behind a place.
    ///   - read: makes elements of items, in their order.
    /// - Returns: the items, and the place behind which the next page begins; nil when this was the last.
    /// - Throws: what `slice` and `read` throw.
    func merged<Place: MergedPlace, Element: Sendable>(
        behind start: Place,
        limit: Int,
        batch: Int,
        isNarrowed: Bool,
        slice: (Int, Place) async throws(StoreError) -> (items: [MergedItem<Place>], rest: Place?),
        read: ([MergedItem<Place>]) async throws(StoreError) -> [Element?]
    ) async throws(StoreError) -> (items: [Element], next: Place?, looked: Int) {
        var place = start
        var elements: [Element] = []
        var (looked, rounds) = (0, 0)
        let wanted = isNarrowed ? limit + 1 : limit
        var behindLast = place
        while looked < Self.mergedLooksMax, rounds < Self.mergedRoundsMax, elements.count < wanted {
            let (items, rest) = try await slice(max(limit, batch), place)
            let found = try await read(items)
            var seen = 0
            for (item, element) in zip(items, found) where elements.count < wanted {
                seen += 1
                place = item.place
                if let element { elements.append(element) }
                if elements.count <= limit { behindLast = place }
            }
            (looked, rounds) = (looked + seen, rounds + 1)
            if seen == items.count {
                guard let rest else {
                    let isLast = elements.count <= limit
                    return (Array(elements.prefix(limit)), isLast ? nil : behindLast, looked)
                }
                place = rest
                if elements.count <= limit { behindLast = place }
            } else if elements.count >= wanted {
                break
            }
        }
        return (Array(elements.prefix(limit)), behindLast, looked)
    }

    /// The first `count` of what several partitions have answered, and where the rest begins; nil when there is none.
    ///
    /// `ends` says how far each partition has come that may have more. Nothing behind the first of these is listed yet,
    /// because an item of that partition may belong before it.
    func merge<Place: MergedPlace>(
        _ items: [MergedItem<Place>],
        ends: [Place],
        _ count: Int
    ) -> (items: [MergedItem<Place>], rest: Place?) {
        let horizon = ends.min()
        let certain = items.filter { item in horizon.map { item.place <= $0 } ?? true }
            .sorted { $0.place < $1.place }
        guard certain.count > count else { return (certain, horizon) }
        return (Array(certain.prefix(count)), certain[count - 1].place)
    }

    /// Runs a script for each of some things, all at once; the answers are in their order.
    func each<Thing: Sendable>(
        _ things: [Thing],
        _ call: @Sendable (Thing) -> (Int, RedisScript, [RedisArgument])
    ) async throws(StoreError) -> [RedisValue] {
        let calls = things.map(call)
        let replies = await withTaskGroup { group in
            for (index, (partition, script, arguments)) in calls.enumerated() {
                group.addTask { () async -> (Int, Result<RedisValue, StoreError>) in
                    do throws(StoreError) {
                        let reply = try await redis.run(script, partition: partition, arguments)
                        return (index, .success(reply))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var replies = [Result<RedisValue, StoreError>?](repeating: nil, count: calls.count)
            for await (index, reply) in group { replies[index] = reply }
            return replies.compactMap(\.self)
        }
        var values: [RedisValue] = []
        for reply in replies { values.append(try reply.get()) }
        return values
    }
}
