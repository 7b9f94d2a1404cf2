import Foundation

/// A master, its replicas and the sentinels that watch them, on loopback.
///
/// This is a class because it owns its processes, which end with its last reference.
package final class RedisSentinelSet: Sendable {
    /// The master's name for the sentinels.
    package static let name = "mymaster"
    /// How long the master may be silent before a sentinel considers it dead.
    package static let downAfterMs = 1_500

    /// The servers: the first is the master at the start, the others are its replicas.
    package let servers: [RedisServerProcess]
    /// Three sentinels; two must agree that the master is dead.
    package let sentinels: [RedisServerProcess]

    /// Starts everything and returns once the sentinels know each other and the replicas.
    ///
    /// - Parameters:
    ///   - replicas: how many replicas the master has.
    ///   - arguments: extra options of every data server, its login for instance.
    ///   - sentinelLines: extra lines in the configuration of every sentinel.
    /// - Returns: the running set.
    /// - Throws: ``RedisServerProcess/Failure`` with the log of the process that did not start.
    package static func start(
        replicas: Int = 1,
        arguments: [String] = [],
        sentinelLines: [String] = []
    ) async throws -> RedisSentinelSet {
        try await RedisServerProcess.blocking {
            try RedisSentinelSet(replicas, arguments, sentinelLines)
        }
    }

    private init(_ replicas: Int, _ arguments: [String], _ sentinelLines: [String]) throws {
        let common = ["--repl-diskless-sync-delay", "0"] + arguments
        let master = try RedisServerProcess(arguments: common)
        var servers = [master]
        for _ in 0..<replicas {
            let follow = ["--replicaof", "127.0.0.1 \(master.port)"]
            servers.append(try RedisServerProcess(arguments: common + follow))
        }
        self.servers = servers
        let lines =
            [
                "sentinel monitor \(Self.name) 127.0.0.1 \(master.port) 2",
                "sentinel down-after-milliseconds \(Self.name) \(Self.downAfterMs)",
                "sentinel failover-timeout \(Self.name) 3000",
            ] + sentinelLines
        self.sentinels = try (0..<3).map { _ in
            try RedisServerProcess(mode: .sentinel(lines))
        }
        for sentinel in sentinels where sentinelLines.isEmpty {
            try sentinel.await("SENTINEL", "MASTER", Self.name) { facts in
                Self.has(facts, "num-other-sentinels", "2")
                    && Self.has(facts, "num-slaves", "\(replicas)")
            }
        }
    }

    /// A URL that names every sentinel.
    package var url: String {
        let hosts = sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return "redis+sentinel://\(hosts)/\(Self.name)"
    }

    /// Returns whether `redis-cli` printed a field and then this value.
    private static func has(_ facts: String, _ field: String, _ value: String) -> Bool {
        facts.contains("\(field)\n\(value)\n")
    }
}
