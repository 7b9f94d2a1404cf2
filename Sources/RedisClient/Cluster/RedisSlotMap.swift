/// Which node serves which slot, as one node of the Cluster sees it.
struct RedisSlotMap: Hashable, Sendable {
    /// The index in ``masters`` plus one, for each slot; 0 means that nobody serves it.
    private var owners: [UInt16]
    /// The nodes that serve slots, in the order they were told.
    private(set) var masters: [RedisEndpoint]
    /// The replicas of each master.
    private(set) var replicas: [RedisEndpoint: [RedisEndpoint]]

    /// Nobody serves anything.
    init() {
        owners = Array(repeating: 0, count: RedisSlot.count)
        masters = []
        replicas = [:]
    }

    /// Reads the reply of `node` to `CLUSTER SLOTS`; `nil` if it is none.
    ///
    /// *Shape*: `[[first, last, [host, port, id, …], replica…]…]`. A host that is null or empty is
    /// that of the node which answered; `?` is a node that does not know its own name yet.
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

    /// Who serves a slot.
    func owner(of slot: Int) -> RedisEndpoint? {
        owners[slot] == 0 ? nil : masters[Int(owners[slot]) - 1]
    }

    /// Every node that was named.
    var nodes: [RedisEndpoint] { masters + masters.flatMap { replicas[$0] ?? [] } }

    /// Whether anybody serves anything.
    var isEmpty: Bool { masters.isEmpty }

    /// Whether every slot is served.
    var isComplete: Bool { !owners.contains(0) }

    /// Notes that a slot has another owner.
    mutating func move(_ slot: Int, to node: RedisEndpoint) {
        owners[slot] = index(of: node)
    }

    /// What is different from an older map, a change for each pair of owners.
    func changes(since older: RedisSlotMap) -> [RedisMasterChange] {
        if owners == older.owners, masters == older.masters { return [] }
        struct Pair: Hashable {
            let old: RedisEndpoint?
            let new: RedisEndpoint
        }
        var moved: [Pair: [ClosedRange<Int>]] = [:]
        var order: [Pair] = []
        for slot in 0..<RedisSlot.count {
            guard let new = owner(of: slot) else { continue }
            let old = older.owner(of: slot)
            guard new != old else { continue }
            let pair = Pair(old: old, new: new)
            if let last = moved[pair]?.last, last.upperBound == slot - 1 {
                moved[pair]?.removeLast()
                moved[pair]?.append(last.lowerBound...slot)
            } else {
                if moved[pair] == nil { order.append(pair) }
                moved[pair, default: []].append(slot...slot)
            }
        }
        return order.map { pair in
            RedisMasterChange(
                old: pair.old,
                new: pair.new,
                slots: moved[pair] ?? [],
                isFailover: pair.old.map { older.isReplica(pair.new, of: $0) || !serves($0) }
                    ?? false
            )
        }
    }

    private func serves(_ node: RedisEndpoint) -> Bool {
        guard let index = masters.firstIndex(of: node) else { return false }
        return owners.contains(UInt16(index + 1))
    }

    private func isReplica(_ node: RedisEndpoint, of master: RedisEndpoint) -> Bool {
        replicas[master]?.contains(node) == true
    }

    private mutating func index(of node: RedisEndpoint) -> UInt16 {
        if let index = masters.firstIndex(of: node) { return UInt16(index + 1) }
        masters.append(node)
        return UInt16(masters.count)
    }

    private static func endpoint(_ value: RedisValue, _ node: RedisEndpoint) -> RedisEndpoint? {
        guard let parts = value.array, parts.count >= 2, let port = parts[1].int,
            (1...65_535).contains(port)
        else { return nil }
        let told = parts[0].string ?? ""
        guard told != "?", let host = told.isEmpty ? node.host : told else { return nil }
        return RedisEndpoint(host: host, port: port, isEncrypted: node.isEncrypted)
    }
}
