/// Which node serves which slot, as one node of the Cluster sees it.
struct RedisSlotMap: Hashable, Sendable {
    /// The index in ``masters`` plus one, for each slot; 0 means that no node serves it.
    private var owners: [UInt16]
    /// The nodes that serve slots, in the order of the reply.
    private(set) var masters: [RedisEndpoint]
    /// The replicas of each master.
    private(set) var replicas: [RedisEndpoint: [RedisEndpoint]]

    /// Makes a map in which no slot has a node.
    init() {
        owners = Array(repeating: 0, count: RedisSlot.count)
        masters = []
        replicas = [:]
    }

    /// Parses the reply of `node` to `CLUSTER SLOTS`; `nil` if it is invalid.
    ///
    /// *Shape*: `[[first, last, [host, port, id, …], replica…]…]`. A host that is null or empty is
    /// that of the replying node. A node named `?`, which does not know its own name yet, is left out;
    /// slots of such a master get no owner.
    init?(_ reply: RedisValue, from node: RedisEndpoint) {
        self.init()
        guard let ranges = reply.array else { return nil }
        for range in ranges {
            guard let parts = range.array, parts.count >= 3, let first = parts[0].int,
                let last = parts[1].int, first >= 0, first <= last, last < RedisSlot.count
            else { return nil }
            guard let master = Self.endpoint(parts[2], node) else { continue }
            let index = index(of: master)
            for slot in first...last { owners[slot] = index }
            let known = parts.dropFirst(3).compactMap { Self.endpoint($0, node) }
            replicas[master, default: []] += known.filter {
                replicas[master]?.contains($0) != true
            }
        }
    }

    /// Returns the node that serves a slot.
    func owner(of slot: Int) -> RedisEndpoint? {
        owners[slot] == 0 ? nil : masters[Int(clamping: owners[slot]) - 1]
    }

    var nodes: [RedisEndpoint] { masters + masters.flatMap { replicas[$0] ?? [] } }

    /// Whether no node serves any slot.
    var isEmpty: Bool { masters.isEmpty }

    /// Whether every slot is served.
    var isComplete: Bool { !owners.contains(0) }

    /// Sets another owner of a slot.
    mutating func move(_ slot: Int, to node: RedisEndpoint) {
        owners[slot] = index(of: node)
    }

    /// Slots that another node serves than before.
    struct Change: Hashable {
        /// The previous node; `nil` for slots that no node served.
        let old: RedisEndpoint?
        let new: RedisEndpoint
        /// Whether a replica took over, so that acknowledged writes may be lost.
        ///
        /// A resharding loses none. Also `true` when the old node serves no slot any more, which may have either cause.
        let isFailover: Bool
    }

    /// Returns the differences from an older map: one change for each pair of owners.
    func changes(since older: RedisSlotMap) -> [Change] {
        if owners == older.owners, masters == older.masters { return [] }
        var changes: [Change] = []
        for slot in 0..<RedisSlot.count {
            let old = older.owner(of: slot)
            guard let new = owner(of: slot), new != old,
                !changes.contains(where: { $0.old == old && $0.new == new })
            else { continue }
            let isFailover = old.map { older.isReplica(new, of: $0) || !serves($0) } ?? false
            changes.append(Change(old: old, new: new, isFailover: isFailover))
        }
        return changes
    }

    private func serves(_ node: RedisEndpoint) -> Bool {
        guard let index = masters.firstIndex(of: node) else { return false }
        return owners.contains(UInt16(clamping: index + 1))
    }

    private func isReplica(_ node: RedisEndpoint, of master: RedisEndpoint) -> Bool {
        replicas[master]?.contains(node) == true
    }

    private mutating func index(of node: RedisEndpoint) -> UInt16 {
        if let index = masters.firstIndex(of: node) { return UInt16(clamping: index + 1) }
        masters.append(node)
        return UInt16(clamping: masters.count)
    }

    private static func endpoint(_ value: RedisValue, _ node: RedisEndpoint) -> RedisEndpoint? {
        guard let parts = value.array, parts.count >= 2, let port = parts[1].int,
            (1...65_535).contains(port)
        else { return nil }
        let address = parts[0].string ?? ""
        guard address != "?", let host = address.isEmpty ? node.host : address else { return nil }
        return RedisEndpoint(host: host, port: port, isEncrypted: node.isEncrypted)
    }
}
