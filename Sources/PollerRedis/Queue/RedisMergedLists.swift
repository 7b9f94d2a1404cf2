import PollerQueue
import RedisClient

/// The position of an item in a list merged from all partitions; `<` is the order of the list.
protocol ListPosition: Comparable, Sendable {
    /// The beginning of the list.
    static var start: Self { get }
    var id: ItemID { get }
}

/// An item of a merged list.
struct MergedItem<Position: ListPosition>: Sendable {
    let partition: Int
    let position: Position
}

/// Lists merged from all partitions by the position of each item.
extension RedisItems {
    /// The most rounds over all partitions for one page.
    private static var mergedRoundsMax: Int { 20 }
    /// The number of records read for one page: a tenth of a second, most of it in this process and not in Redis.
    static var mergedReadsMax: Int { 2000 }

    /// Returns a page of the elements that `read` makes of items after a position.
    ///
    /// - Parameters:
    ///   - start: the position of the last item of the previous page.
    ///   - limit: most items.
    ///   - batch: the number of items read at once.
    ///   - isNarrowed: whether items of other accounts are left out. Then whether there is a next page does not depend
    ///     on
    ///     them.
    ///   - slice: reads a number of items after a position.
    ///   - read: makes elements of items, in their order; `nil` leaves an item out.
    /// - Returns: the elements, and the position after which the next page begins; `nil` if this was the last.
    /// - Throws: the errors of `slice` and `read`.
    func merged<Position: ListPosition, Element: Sendable>(
        after start: Position,
        limit: Int,
        batch: Int,
        isNarrowed: Bool,
        slice: (Int, Position) async throws(StoreError) -> (
            items: [MergedItem<Position>], rest: Position?
        ),
        read: ([MergedItem<Position>]) async throws(StoreError) -> [Element?]
    ) async throws(StoreError) -> (items: [Element], next: Position?, looked: Int) {
        var position = start
        var elements: [Element] = []
        var (looked, rounds) = (0, 0)
        let wanted = isNarrowed ? limit + 1 : limit
        var endOfPage = position
        while looked < Self.mergedReadsMax, rounds < Self.mergedRoundsMax, elements.count < wanted {
            let (items, rest) = try await slice(max(limit, batch), position)
            let found = try await read(items)
            var seen = 0
            for (item, element) in zip(items, found) where elements.count < wanted {
                seen += 1
                position = item.position
                if let element { elements.append(element) }
                if elements.count <= limit { endOfPage = position }
            }
            (looked, rounds) = (looked + seen, rounds + 1)
            if seen == items.count {
                guard let rest else {
                    let isLast = elements.count <= limit
                    return (Array(elements.prefix(limit)), isLast ? nil : endOfPage, looked)
                }
                position = rest
                if elements.count <= limit { endOfPage = position }
            } else if elements.count >= wanted {
                break
            }
        }
        return (Array(elements.prefix(limit)), endOfPage, looked)
    }

    /// Returns the first `count` items of several partitions, and the position of the next page; `nil` if there is
    /// none.
    ///
    /// `ends` has the last position of each partition that may have more. Items after the first of these positions are
    /// not final, because an item of that partition may belong before them.
    func merge<Position: ListPosition>(
        _ items: [MergedItem<Position>],
        ends: [Position],
        _ count: Int
    ) -> (items: [MergedItem<Position>], rest: Position?) {
        let horizon = ends.min()
        let certain = items.filter { item in horizon.map { item.position <= $0 } ?? true }
            .sorted { $0.position < $1.position }
        guard certain.count > count else { return (certain, horizon) }
        return (Array(certain.prefix(count)), certain[count - 1].position)
    }
}
