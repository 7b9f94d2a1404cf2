/// The Cluster as one of its nodes describes it.
struct RedisClusterView: Hashable {
    let map: RedisSlotMap
    /// Whether the node serves anything: it sees most of the masters.
    let isWell: Bool
    /// The epoch of the newest election it has heard of.
    let epoch: Int

    /// What to ask.
    static let questions = [
        RedisCommand("CLUSTER", ["SLOTS"]), RedisCommand("CLUSTER", ["INFO"]),
    ]

    /// Reads the replies of `node`; `nil` if it is no Cluster's.
    init?(_ replies: [RedisValue], from node: RedisEndpoint) {
        guard replies.count == 2, let map = RedisSlotMap(replies[0], from: node), !map.isEmpty
        else { return nil }
        self.map = map
        var facts: [Substring: Substring] = [:]
        for line in (replies[1].string ?? "").split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { facts[parts[0]] = parts[1] }
        }
        self.isWell = facts["cluster_state"] == "ok"
        self.epoch = facts["cluster_current_epoch"].flatMap { Int($0) } ?? 0
    }

    /// The view to believe: a minority that was cut off is not well, and late gossip has old epochs.
    static func best(of views: [RedisClusterView]) -> RedisClusterView? {
        func rank(_ view: RedisClusterView) -> (Int, Int, Int) {
            (view.isWell ? 1 : 0, view.epoch, view.map.isComplete ? 1 : 0)
        }
        return views.max { rank($0) < rank($1) }
    }
}
