import PollerQueue
import RedisClient

/// The items and lanes of a partition that must move.
extension PartitionSplit {
    /// The number of names per list call, and the number of them read at once: a few hundred KiB.
    private static let (listed, batch) = (512, 64)

    /// Calls `body` with all items and lanes that move, in parts: items first, then lanes.
    ///
    /// `others` are lanes that may have stored state but no items. `body` may remove the parts it is called with.
    func eachMoving(
        _ others: [LaneID],
        _ body: (Part) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var lanes = try await lanes()
        lanes.formUnion(others.map(\.description).filter(isMoving))
        for lane in lanes.sorted() {
            for schedule in [KeyKind.urgent, .normal] {
                try await eachItem(of: schedule, in: lane, body)
            }
        }
        for list in [KeyKind.closed, .orders, .quarantine] {
            try await eachItem(of: list, in: "") { part throws(StoreError) in
                lanes.formUnion(part.lanes)
                try await body(part)
            }
        }
        // Lanes of ended items move too: their recipients are remembered for some days.
        let names = lanes.sorted()
        for start in stride(from: 0, to: names.count, by: Self.batch) {
            let part = Array(names[start..<min(start + Self.batch, names.count)])
            try await body(Part(isItems: false, names: part, lanes: part))
        }
    }

    /// Does the same for ended items only.
    func eachEnded(
        _ body: (Part) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        try await eachItem(of: .closed, in: "", body)
    }

    private func isMoving(_ lane: String) -> Bool {
        !lane.isEmpty
            && (takesAll || partitions.keys.map.finalPartition(of: lane) != partition)
    }

    /// Returns the lanes that move, of those that the partition lists.
    private func lanes() async throws(StoreError) -> Set<String> {
        var lanes: Set<String> = []
        for kind in [KeyKind.occupiedLanes, .knownLanes, .lanesWithSettings] {
            var seen = 0
            while true {
                let names = try await list(kind, "", seen)
                lanes.formUnion(names.filter(isMoving))
                seen += names.count
                if kind == .lanesWithSettings || names.count < Self.listed { break }
            }
        }
        return lanes
    }

    private func eachItem(
        of kind: KeyKind,
        in lane: String,
        _ body: (Part) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var seen = 0
        while true {
            let found = try await list(kind, lane, seen)
            var moving = Part(isItems: true)
            for at in stride(from: 0, to: found.count - 1, by: 2) {
                // An item in a schedule belongs to its lane, even if nothing else of it is left.
                let itemLane = lane.isEmpty ? found[at + 1] : lane
                guard isMoving(itemLane) else { continue }
                moving.names.append(found[at])
                moving.lanes.append(itemLane)
            }
            for start in stride(from: 0, to: moving.names.count, by: Self.batch) {
                let end = min(start + Self.batch, moving.names.count)
                var part = Part(isItems: true)
                part.names = Array(moving.names[start..<end])
                part.lanes = Array(moving.lanes[start..<end])
                try await body(part)
            }
            if found.count < 2 * Self.listed { return }
            seen += Self.listed
            if !moving.names.isEmpty, try await isGone(moving.names[0], kind, lane) {
                seen -= moving.names.count
            }
        }
    }

    /// Returns whether an item has left a list, as removed items do.
    private func isGone(
        _ name: String,
        _ kind: KeyKind,
        _ lane: String
    ) async throws(StoreError) -> Bool {
        let key = partitions.keys.list(kind, lane, partition)
        let reply = try await partitions.client.execute(
            RedisCommand("ZSCORE", [.string(key), .string(name)])
        )
        return reply == .null
    }

    private func list(
        _ kind: KeyKind,
        _ lane: String,
        _ seen: Int
    ) async throws(StoreError) -> [String] {
        try await partitions.array(
            .splitList,
            partition: partition,
            [
                .string(kind.rawValue), RedisArgument(seen), RedisArgument(Self.listed),
                .string(lane),
            ]
        ).map { $0.string ?? "" }
    }
}
