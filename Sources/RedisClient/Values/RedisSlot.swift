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
