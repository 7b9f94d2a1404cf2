import PollerIdentity
import PollerQueue
import PollerWatches
import RedisClient

/// Searches for watches by source alone.
///
/// A watch's id is made of its account, kind and source, and only the source is given. The lanes that have had watches
/// are known, and a source has at most one watch in each. So every lane is checked for the id that the watch has there.
/// That takes two rounds of small reads, regardless of the store's size: the names of lanes, and which of the watches
/// exist. A watch with an entry in the index was found by it, and is left out here.
///
/// *Rejected*: an entry for each source, which took 50 to 130 bytes per watch.
extension RedisSearch {
    /// A watch that may exist.
    private struct Candidate {
        let position: NamePosition
        let partition: Int
        let id: ItemID
        let term: SearchTerm
    }

    /// Returns at most `limit` watches of some sources, after a position.
    func named(
        _ query: ListQuery,
        _ sources: [SearchedSource],
        _ limit: Int,
        from start: NamePosition
    ) async throws(StoreError) -> ListPage<WatchSnapshot> {
        let (candidates, end) = try await candidates(query, sources, after: start)
        let found = try await existing(candidates)
        var items: [WatchSnapshot] = []
        var looked = 0
        while looked < found.count {
            let left = limit - items.count
            guard left > 0, looked < Self.readsMax else {
                let next = WatchListPosition.named(found[looked - 1].position).cursor
                return ListPage(items: items, next: next, looked: looked)
            }
            let part = found[looked..<min(looked + left, found.count)]
            let read = try await read(part.map { ($0.partition, $0.id) }, query)
            items += read.compactMap(\.self)
            looked += part.count
        }
        return ListPage(
            items: items,
            next: end.map { WatchListPosition.named($0).cursor },
            looked: looked
        )
    }

    /// Returns the candidates after a position, in order, and where to continue if there may be more.
    private func candidates(
        _ query: ListQuery,
        _ sources: [SearchedSource],
        after start: NamePosition
    ) async throws(StoreError) -> (candidates: [Candidate], end: NamePosition?) {
        let steps = start.steps
        let names = try await laneNames(from: start, most: nameLimits.lanes)
        var candidates: [Candidate] = []
        for step in start.step..<steps {
            let parts = redis.keys.map.parts(of: step, among: steps)
            // Names missing after the end of one part may come before names from other parts.
            let end = parts.compactMap { names[$0] }.filter(\.isCut).compactMap(\.names.last)
                .min(by: LaneNames.precedes)
            let lanes = parts.flatMap { part in names[part]?.names.map { (part, $0) } ?? [] }
                .filter { lane in end.map { !LaneNames.precedes($0, lane.1) } ?? true }
                .sorted { LaneNames.precedes($0.1, $1.1) }
            for (partition, lane) in lanes {
                for (index, source) in sources.enumerated() {
                    let position = NamePosition(step: step, among: steps, lane: lane, source: index)
                    guard start < position, let key = source.key(in: LaneID(unchecked: lane)),
                        query.accounts.contains(key.account), query.kind ?? key.kind == key.kind
                    else { continue }
                    candidates.append(
                        Candidate(
                            position: position,
                            partition: partition,
                            id: key.id,
                            term: source.term
                        )
                    )
                    if candidates.count == nameLimits.names { return (candidates, position) }
                }
            }
            if let end {
                let count = sources.count
                return (
                    candidates, NamePosition(step: step, among: steps, lane: end, source: count)
                )
            }
        }
        return (candidates, nil)
    }

    /// Returns the candidates that exist and that no entry of the index finds, in their order.
    private func existing(_ candidates: [Candidate]) async throws(StoreError) -> [Candidate] {
        var calls: [(partition: Int, candidates: [Candidate])] = []
        let byPartition = Dictionary(grouping: candidates, by: \.partition)
        for (partition, candidates) in byPartition {
            for start in stride(from: 0, to: candidates.count, by: nameLimits.namesPerCall) {
                let end = min(start + nameLimits.namesPerCall, candidates.count)
                calls.append((partition, Array(candidates[start..<end])))
            }
        }
        let replies = try await redis.each(calls) { call in
            let arguments = call.candidates.flatMap { candidate -> [RedisArgument] in
                [.string(candidate.id.description), .string(candidate.term.description)]
            }
            return (call.partition, .findUnindexed, arguments)
        }
        let existingIDs = Set(replies.flatMap { ($0.array ?? []).compactMap(\.string) })
        return candidates.filter { existingIDs.contains($0.id.description) }
    }

    /// Returns the names of lanes from a position on, in order, by partition.
    private func laneNames(
        from start: NamePosition,
        most: Int
    ) async throws(StoreError) -> [Int: LaneNames] {
        let partitionsToRead = (0..<redis.keys.partitions).filter { $0 % start.steps >= start.step }
        let names = try await redis.laneNames(most: most, in: partitionsToRead) { partition in
            partition % start.steps == start.step ? start.lane : ""
        }
        return Dictionary(uniqueKeysWithValues: zip(partitionsToRead, names))
    }
}

/// The limits of one page of a search by names; the remaining names are left to the next page.
struct NameSearchLimits {
    static let standard = NameSearchLimits(lanes: 5000, names: 20_000, namesPerCall: 500)

    /// The number of lane names per call and partition: a millisecond of Redis.
    let lanes: Int
    /// The number of names checked: about 30 ms of this process, and the same of Redis in small parts.
    let names: Int
    /// The number of names checked by one call: half a millisecond of Redis.
    let namesPerCall: Int
}
