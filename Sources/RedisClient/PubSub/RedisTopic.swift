/// Something to subscribe to.
enum RedisTopic: Hashable {
    case channel(String)
    case pattern(String)

    var subscribe: RedisCommand {
        switch self {
        case .channel(let name): RedisCommand("SUBSCRIBE", [.string(name)])
        case .pattern(let name): RedisCommand("PSUBSCRIBE", [.string(name)])
        }
    }

    var unsubscribe: RedisCommand {
        switch self {
        case .channel(let name): RedisCommand("UNSUBSCRIBE", [.string(name)])
        case .pattern(let name): RedisCommand("PUNSUBSCRIBE", [.string(name)])
        }
    }
}
