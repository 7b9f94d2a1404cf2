/// A node's answer that the slot is another node's.
enum RedisRedirect: Hashable {
    /// For good: `MOVED slot host:port`.
    case moved(slot: Int, to: RedisEndpoint)
    /// For this command only, while the slot moves: `ASK slot host:port`.
    case ask(RedisEndpoint)

    /// Reads an error reply of `node`; `nil` if it is another error.
    ///
    /// An empty host is that of the node which answered (Redis 7).
    init?(_ error: RedisReplyError, from node: RedisEndpoint) {
        guard error.code == "MOVED" || error.code == "ASK" else { return nil }
        let words = error.message.split(separator: " ")
        guard words.count == 2, let slot = Int(words[0]), (0..<RedisSlot.count).contains(slot),
            let colon = words[1].lastIndex(of: ":"),
            let port = Int(words[1][words[1].index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        let host = words[1][..<colon]
        guard let host = host.isEmpty ? node.host : String(host) else { return nil }
        let endpoint = RedisEndpoint(host: host, port: port, isEncrypted: node.isEncrypted)
        self = error.code == "ASK" ? .ask(endpoint) : .moved(slot: slot, to: endpoint)
    }
}
