/// Commands that go to one node in one go, and what decides to which.
struct RedisUnit: Sendable {
    let commands: [RedisCommand]
    /// Which of them is routed; its reply decides about redirection and repetition.
    let deciding: Int
    private let key: String?

    /// Commands of which the one at `deciding` is routed: by `key`, or by its own first key.
    init(_ commands: [RedisCommand], deciding: Int = 0, key: String? = nil) {
        self.commands = commands
        self.deciding = deciding
        self.key = key
    }

    /// The slot of the key, `nil` if any node will do.
    var slot: Int? {
        if let key { return RedisSlot.of(key.utf8) }
        return commands[deciding].firstKey.map { RedisSlot.of($0) }
    }

    /// The same for the node that a slot is moving to, which serves only who says `ASKING`.
    var asking: [RedisCommand] {
        var commands = commands
        commands.insert(RedisCommand("ASKING"), at: deciding)
        return commands
    }

    /// Replies that a node which refuses the routed command would give.
    func refused(_ error: RedisReplyError) -> [RedisValue] {
        var replies = [RedisValue](repeating: .null, count: commands.count)
        replies[deciding] = .error(error)
        return replies
    }

    /// The replies to ``asking`` without that to `ASKING`.
    func withoutAsking(_ replies: [RedisValue]) -> [RedisValue] {
        var replies = replies
        replies.remove(at: deciding)
        return replies
    }
}
