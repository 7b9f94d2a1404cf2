/// What one sentinel knows about a master.
struct RedisSentinelAnswer: Hashable {
    /// The server it calls the master.
    let master: RedisEndpoint
    /// How new its knowledge is: each failover has a higher one; 0 if it may not tell.
    let epoch: Int
    /// The other sentinels it knows.
    let peers: [RedisEndpoint]

    /// What to ask.
    static func questions(_ name: String) -> [RedisCommand] {
        [
            // During a failover this names the new master before SENTINEL MASTER does.
            RedisCommand("SENTINEL", ["get-master-addr-by-name", .string(name)]),
            RedisCommand("SENTINEL", ["MASTER", .string(name)]),
            RedisCommand("SENTINEL", ["SENTINELS", .string(name)]),
        ]
    }

    /// Reads the replies of `sentinel`; `nil` if it does not know the name.
    init?(_ replies: [RedisValue], from sentinel: RedisEndpoint) {
        func endpoint(_ host: String?, _ port: Int?) -> RedisEndpoint? {
            guard let host, !host.isEmpty, let port, (1...65_535).contains(port) else { return nil }
            return RedisEndpoint(host: host, port: port, isEncrypted: sentinel.isEncrypted)
        }
        guard replies.count == 3, let address = replies[0].array, address.count == 2,
            let master = endpoint(address[0].string, address[1].int)
        else { return nil }
        self.master = master
        self.epoch = Self.fields(replies[1])["config-epoch"]?.int ?? 0
        self.peers = (replies[2].array ?? []).compactMap { peer in
            let fields = Self.fields(peer)
            return endpoint(fields["ip"]?.string, fields["port"]?.int)
        }
    }

    /// The newest answer; of equally new ones the one that most give.
    static func best(of answers: [RedisSentinelAnswer]) -> RedisSentinelAnswer? {
        func votes(_ answer: RedisSentinelAnswer) -> Int {
            answers.count { $0.epoch == answer.epoch && $0.master == answer.master }
        }
        return answers.max { ($0.epoch, votes($0)) < ($1.epoch, votes($1)) }
    }

    /// Pairs up a flat array of names and values.
    private static func fields(_ reply: RedisValue) -> [String: RedisValue] {
        let flat = reply.array ?? []
        var fields: [String: RedisValue] = [:]
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            if let name = flat[index].string { fields[name] = flat[index + 1] }
        }
        return fields
    }
}
