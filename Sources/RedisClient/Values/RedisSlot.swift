import NIOCore

/// One of the 16,384 slots over which a Redis Cluster distributes its keys.
///
/// *Source*: the Redis Cluster specification: CRC16 (XMODEM) of the key modulo 16,384. If the text
/// between its first `{` and the next `}` is not empty, only that is hashed.
enum RedisSlot {
    /// The number of slots.
    static let count = 16_384

    static func of(_ key: RedisArgument) -> Int {
        switch key {
        case .string(let text): of(text.utf8)
        case .int(let number): of(String(number).utf8)
        case .bytes(let bytes): of(bytes)
        case .buffer(let buffer): of(buffer.readableBytesView)
        }
    }

    static func of(_ key: some BidirectionalCollection<UInt8>) -> Int {
        if let open = key.firstIndex(of: UInt8(ascii: "{")) {
            let rest = key[key.index(after: open)...]
            if let close = rest.firstIndex(of: UInt8(ascii: "}")), close != rest.startIndex {
                return Int(clamping: CRC16.checksum(rest[..<close])) % count
            }
        }
        return Int(clamping: CRC16.checksum(key)) % count
    }
}

/// CRC16-XMODEM, the checksum by which Redis Cluster maps keys to slots.
///
/// It also maps lanes to partitions.
///
/// It is inlinable, because each claim and mark computes it, and unspecialised code takes many times as long.
///
/// *Source*: the Redis Cluster specification, appendix A: polynomial 0x1021, initial value 0.
@usableFromInline
package enum CRC16 {
    /// Returns the checksum; that of `123456789` is 0x31C3.
    @inlinable
    package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var crc: UInt16 = 0
        for byte in bytes {
            crc = crc << 8 ^ table[Int(clamping: UInt8(truncatingIfNeeded: crc >> 8) ^ byte)]
        }
        return crc
    }

    /// The contribution of each value of the upper byte.
    @usableFromInline
    static let table: [UInt16] = (0..<256).map { value in
        var crc = UInt16(truncatingIfNeeded: value) << 8
        for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        return crc
    }
}

/// The position of a command's first key, so that callers need not pass it.
///
/// Redis' own table (`COMMAND INFO`) has the same data. A copy of the exceptions costs no round
/// trip and no memory per node. A command that is not in this table is assumed to begin with its
/// key, as nearly all do; otherwise the caller passes `key:`.
extension RedisCommand {
    /// The first key; `nil` for a command without one, which any node may execute.
    var firstKey: RedisArgument? {
        switch name.uppercased() {
        case "ACL", "ASKING", "AUTH", "BGREWRITEAOF", "BGSAVE", "CLIENT", "CLUSTER", "COMMAND",
            "CONFIG", "DBSIZE", "DISCARD", "ECHO", "EXEC", "FAILOVER", "FLUSHALL", "FLUSHDB",
            "FUNCTION", "HELLO", "INFO", "KEYS", "LASTSAVE", "LATENCY", "LOLWUT", "MODULE",
            "MONITOR", "MULTI", "PING", "PSUBSCRIBE", "PUBLISH", "PUBSUB", "PUNSUBSCRIBE", "QUIT",
            "RANDOMKEY", "READONLY", "READWRITE", "REPLICAOF", "RESET", "ROLE", "SAVE", "SCAN",
            "SCRIPT", "SELECT", "SENTINEL", "SHUTDOWN", "SLOWLOG", "SUBSCRIBE", "SWAPDB", "SYNC",
            "TIME", "UNSUBSCRIBE", "UNWATCH", "WAIT", "WAITAOF":
            nil
        case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
            counted(at: 1)
        case "LMPOP", "SINTERCARD", "ZDIFF", "ZINTER", "ZINTERCARD", "ZMPOP", "ZUNION":
            counted(at: 0)
        case "BLMPOP", "BZMPOP": counted(at: 1)
        case "BITOP", "MEMORY", "OBJECT", "XGROUP", "XINFO": argument(1)
        case "DEBUG": isSubcommand("OBJECT") ? argument(1) : nil
        case "MIGRATE": argument(2)
        case "XREAD", "XREADGROUP": afterStreams
        default: argument(0)
        }
    }

    private func argument(_ index: Int) -> RedisArgument? {
        index < arguments.count ? arguments[index] : nil
    }

    /// Returns the key after the number of keys at `index`; `nil` if that number is 0.
    private func counted(at index: Int) -> RedisArgument? {
        switch argument(index) {
        case .int(0), .string("0"): nil
        default: argument(index + 1)
        }
    }

    private func isSubcommand(_ name: String) -> Bool {
        guard case .string(let first) = argument(0) else { return false }
        return first.uppercased() == name
    }

    private var afterStreams: RedisArgument? {
        let word = arguments.firstIndex {
            guard case .string(let text) = $0 else { return false }
            return text.uppercased() == "STREAMS"
        }
        return word.flatMap { argument($0 + 1) }
    }
}

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

    /// Every node in the map.
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
