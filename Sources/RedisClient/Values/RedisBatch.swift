/// Commands sent to one node in one pipeline, and the key that selects the node.
struct RedisBatch: Sendable {
    let commands: [RedisCommand]
    /// The index of the command that is routed.
    ///
    /// Its reply decides about redirection and retries.
    let routedIndex: Int
    private let key: String?

    /// Makes a batch routed by `key`, or by the first key of the command at `routedIndex`.
    init(_ commands: [RedisCommand], routedIndex: Int = 0, key: String? = nil) {
        self.commands = commands
        self.routedIndex = routedIndex
        self.key = key
    }

    /// The slot of the key; `nil` if any node can execute the commands.
    var slot: Int? {
        if let key { return RedisSlot.of(key.utf8) }
        return commands[routedIndex].firstKey.map { RedisSlot.of($0) }
    }

    /// The commands for the node that the slot is moving to, which requires `ASKING` before the
    /// routed command.
    var asking: [RedisCommand] {
        var commands = commands
        commands.insert(RedisCommand("ASKING"), at: routedIndex)
        return commands
    }

    /// The replies of a node that rejects the routed command.
    func refused(_ error: RedisReplyError) -> [RedisValue] {
        var replies = [RedisValue](repeating: .null, count: commands.count)
        replies[routedIndex] = .error(error)
        return replies
    }

    /// The replies to ``asking`` without that to `ASKING`.
    func withoutAsking(_ replies: [RedisValue]) -> [RedisValue] {
        var replies = replies
        replies.remove(at: routedIndex)
        return replies
    }
}
