/// Which of the servers that are written to can be reached now.
package struct RedisReach: Hashable, Sendable {
    /// How many there are, as far as is known; 0 before any was reached.
    package let masters: Int
    /// Those that cannot be reached at present.
    package let away: [RedisEndpoint]
    /// Whether the others serve what they have: those of a Cluster may refuse all, as while they see too few of
    /// each other or, by default, while slots have no server (`cluster-require-full-coverage`).
    package let isServing: Bool

    /// Describes what is known of servers.
    package init(masters: Int, away: [RedisEndpoint] = [], isServing: Bool = true) {
        self.masters = masters
        self.away = away
        self.isServing = isServing
    }

    /// Whether something can be read and written.
    package var isUsable: Bool { isServing && away.count < masters }
}
