/// Where a command has its first key, so that calls need not say it.
///
/// Redis' own table (`COMMAND INFO`) says the same; a copy of the exceptions costs no round trip and
/// no memory for each node. A command that is new to this table is taken to begin with its key, as
/// nearly all do; who knows better passes `key:`.
extension RedisCommand {
    /// The first key, `nil` for a command without one: any node may answer it.
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

    /// The key after the number of keys at `index`; none if that number is 0.
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
