/// The items of a partition that were copied before it stopped, and whether they have changed since.
struct SplitCopies {
    /// An item in one of the new parts.
    private struct Copy {
        /// A checksum of all data of an item, including its positions in lists.
        var sum: String
        let lane: String
        /// Whether the item existed when changes were no longer possible.
        var isConfirmed: Bool
    }

    /// The number of items removed in one call.
    private static let batch = 64

    private var copies: [String: Copy] = [:]
    /// The lane names, each stored once: there are few lanes and many items.
    private var lanes: Set<String> = []

    /// Records copied items or lanes; `sums` are those of the items.
    mutating func note(_ part: PartitionSplit.Part, _ sums: [String], isConfirmed: Bool = false) {
        for (index, name) in part.names.enumerated() {
            let lane = lanes.insert(part.lanes[index]).memberAfterInsert
            copies[name] = Copy(sum: sums[index], lane: lane, isConfirmed: isConfirmed)
        }
    }

    /// Returns the items that were copied before.
    func copiedItems(of part: PartitionSplit.Part) -> PartitionSplit.Part {
        var copiedItems = PartitionSplit.Part(isItems: true)
        for (index, name) in part.names.enumerated() where copies[name] != nil {
            copiedItems.names.append(name)
            copiedItems.lanes.append(part.lanes[index])
        }
        return copiedItems
    }

    /// Returns whether any of the items was copied.
    func hasAny(of part: PartitionSplit.Part) -> Bool {
        part.names.contains { copies[$0] != nil }
    }

    /// Returns the items that have changed since they were copied, and those that were not copied.
    ///
    /// `sums` are their present checksums.
    mutating func classify(
        _ part: PartitionSplit.Part,
        _ sums: [String]
    ) -> (changed: PartitionSplit.Part, new: PartitionSplit.Part) {
        var changed = PartitionSplit.Part(isItems: true)
        var new = changed
        for (index, name) in part.names.enumerated() {
            if let sum = copies[name]?.sum {
                copies[name]?.isConfirmed = true
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

    /// The items that were copied and have been removed since.
    var removed: [PartitionSplit.Part] {
        let names = copies.filter { !$0.value.isConfirmed }.map { ($0.key, $0.value.lane) }
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
