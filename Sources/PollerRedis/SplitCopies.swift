import Poller

/// What of a partition was copied before it stood still, and whether it has changed since.
struct SplitCopies {
    /// An item in one of the new parts.
    private struct Copy {
        /// Of all that is kept of an item, and of its places.
        var sum: String
        let lane: String
        /// Whether it was there when nothing could change any more.
        var isSeen: Bool
    }

    /// Items that are taken out in one call.
    private static let batch = 64

    private var copies: [String: Copy] = [:]
    /// Each name once: there are few of them, and many items.
    private var lanes: Set<String> = []

    /// Notes what was copied; `sums` are those of the items.
    mutating func note(_ part: PartitionSplit.Part, _ sums: [String], isSeen: Bool = false) {
        for (index, name) in part.names.enumerated() {
            let lane = lanes.insert(part.lanes[index]).memberAfterInsert
            copies[name] = Copy(sum: sums[index], lane: lane, isSeen: isSeen)
        }
    }

    /// Those of some items that were copied before.
    func known(of part: PartitionSplit.Part) -> PartitionSplit.Part {
        var known = PartitionSplit.Part(isItems: true)
        for (index, name) in part.names.enumerated() where copies[name] != nil {
            known.names.append(name)
            known.lanes.append(part.lanes[index])
        }
        return known
    }

    /// Whether any of some items was copied.
    func hasAny(of part: PartitionSplit.Part) -> Bool {
        part.names.contains { copies[$0] != nil }
    }

    /// Those of some items that have changed since they were copied, and those that were not; `sums` are theirs now.
    mutating func sort(
        _ part: PartitionSplit.Part,
        _ sums: [String]
    ) -> (changed: PartitionSplit.Part, new: PartitionSplit.Part) {
        var changed = PartitionSplit.Part(isItems: true)
        var new = changed
        for (index, name) in part.names.enumerated() {
            if let sum = copies[name]?.sum {
                copies[name]?.isSeen = true
                guard sum != sums[index] else { continue }
                changed.names.append(name)
                changed.lanes.append(part.lanes[index])
            } else {
                new.names.append(name)
                new.lanes.append(part.lanes[index])
            }
        }
        return (changed, new)
    }

    /// What was copied and has been forgotten since.
    var gone: [PartitionSplit.Part] {
        let names = copies.filter { !$0.value.isSeen }.map { ($0.key, $0.value.lane) }
        return stride(from: 0, to: names.count, by: Self.batch).map { start in
            let some = names[start..<min(start + Self.batch, names.count)]
            return PartitionSplit.Part(
                isItems: true,
                names: some.map(\.0),
                lanes: some.map(\.1)
            )
        }
    }
}
