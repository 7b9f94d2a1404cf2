import Poller
import PollerIdentity
import PollerQueue
import RedisClient

/// Watches that are found by a source alone.
///
/// Nobody knows account and kind, which a watch's name is made of. The lanes in which there have been
/// watches are known, and one source has at most one watch in each: so it is asked for in all of them, by
/// the name that it has there. That takes two rounds of small reads, whatever the store holds: names of
/// lanes, and which of the watches there are. What has an entry in the index was found by that, and is
/// left out here.
///
/// Rejected: an entry for each source, which weighed 50 to 130 bytes of each watch.
extension RedisWatchStore {
    /// A watch that there may be.
    private struct Candidate {
        let place: NamePlace
        let partition: Int
        let id: ItemID
        let term: SearchTerm
    }

    /// At most so many watches of some sources, behind a place.
    func named(
        _ query: ListQuery,
        _ sources: [SearchedSource],
        _ limit: Int,
        from start: NamePlace
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let (candidates, end) = try await candidates(query, sources, behind: start)
        let found = try await existing(candidates)
        var items: [WatchSnapshot] = []
        var looked = 0
        while looked < found.count {
            let left = limit - items.count
            guard left > 0, looked < Self.looksMax else {
                let next = WatchPlace.named(found[looked - 1].place).cursor
                return ListPage(items: items, next: next, looked: looked)
            }
            let part = found[looked..<min(looked + left, found.count)]
            let read = try await read(part.map { ($0.partition, $0.id) }, query)
            items += read.compactMap(\.self)
            looked += part.count
        }
        return ListPage(
            items: items,
            next: end.map { WatchPlace.named($0).cursor },
            looked: looked
        )
    }

    /// The watches there may be behind a place, in order; and where it goes on, if there may be more.
    private func candidates(
        _ query: ListQuery,
        _ sources: [SearchedSource],
        behind start: NamePlace
    ) async throws(StoreError) -> (candidates: [Candidate], end: NamePlace?) {
        let steps = start.steps
        let names = try await laneNames(from: start, most: nameBounds.lanes)
        var candidates: [Candidate] = []
        for step in start.step..<steps {
            let parts = redis.keys.map.parts(of: step, among: steps)
            // Behind the end of one part something may stand before what others have named.
            let end = parts.compactMap { names[$0] }.filter(\.isCut).compactMap(\.names.last)
                .min(by: LaneNames.precedes)
            let lanes = parts.flatMap { part in names[part]?.names.map { (part, $0) } ?? [] }
                .filter { lane in end.map { !LaneNames.precedes($0, lane.1) } ?? true }
                .sorted { LaneNames.precedes($0.1, $1.1) }
            for (partition, lane) in lanes {
                for (index, source) in sources.enumerated() {
                    let place = NamePlace(step: step, among: steps, lane: lane, source: index)
                    guard start < place, let key = source.key(in: LaneID(unchecked: lane)),
                        query.accounts.contains(key.account), query.kind ?? key.kind == key.kind
                    else { continue }
                    candidates.append(
                        Candidate(
                            place: place,
                            partition: partition,
                            id: key.id,
                            term: source.term
                        )
                    )
                    if candidates.count == nameBounds.names { return (candidates, place) }
                }
            }
            if let end {
                let count = sources.count
                return (
                    candidates, NamePlace(step: step, among: steps, lane: end, source: count)
                )
            }
        }
        return (candidates, nil)
    }

    /// Those of some watches that there are and that no entry of the index finds, in their order.
    private func existing(_ candidates: [Candidate]) async throws(StoreError) -> [Candidate] {
        var calls: [(partition: Int, candidates: [Candidate])] = []
        let byPartition = Dictionary(grouping: candidates, by: \.partition)
        for (partition, candidates) in byPartition {
            for start in stride(from: 0, to: candidates.count, by: nameBounds.asked) {
                let end = min(start + nameBounds.asked, candidates.count)
                calls.append((partition, Array(candidates[start..<end])))
            }
        }
        let replies = try await each(calls) { call in
            let arguments = call.candidates.flatMap { candidate -> [RedisArgument] in
                [.string(candidate.id.description), .string(candidate.term.description)]
            }
            return (call.partition, redis.scripts[.named], arguments)
        }
        let there = Set(replies.flatMap { ($0.array ?? []).compactMap(\.string) })
        return candidates.filter { there.contains($0.id.description) }
    }

    /// The names of lanes from a place on, in order, by partition.
    private func laneNames(
        from start: NamePlace,
        most: Int
    ) async throws(StoreError) -> [Int: LaneNames] {
        let places = (0..<partitions).filter { $0 % start.steps >= start.step }
        let names = try await laneNames(most: most, in: places) { partition in
            partition % start.steps == start.step ? start.lane : ""
        }
        return Dictionary(uniqueKeysWithValues: zip(places, names))
    }
}

/// How much one page of a search by names takes; the rest is for the next page.
struct NameBounds {
    static let standard = NameBounds(lanes: 5000, names: 20_000, asked: 500)

    /// Lanes that one call names, of each partition: a millisecond of Redis.
    let lanes: Int
    /// Names that are asked for: some 30 ms of ours, and as many of Redis in small parts.
    let names: Int
    /// Names that one call asks for: half a millisecond of Redis.
    let asked: Int
}
