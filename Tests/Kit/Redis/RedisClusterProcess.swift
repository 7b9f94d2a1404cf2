import Foundation
import Synchronization

/// A real Redis Cluster on loopback that a test starts, reshards, breaks and repairs.
///
/// The masters share the slots evenly, in their order. This is a class because it owns its nodes, which end with its
/// last reference.
package final class RedisClusterProcess: Sendable {
    /// How long a node may be silent before the others consider it dead.
    ///
    /// They fail over about a second later. The time is short for tests, and long enough for a machine that is busy
    /// with them.
    package static let nodeTimeoutMs = 3_000

    /// The nodes that got slots at the start.
    package let masters: [RedisServerProcess]
    /// The replicas of each master, at the same index.
    package let replicas: [[RedisServerProcess]]
    private let added = Mutex<[RedisServerProcess]>([])
    private let arguments: [String]

    /// Starts a Cluster and returns once every node serves; `arguments` are extra options of each.
    package static func start(
        masters: Int = 3,
        replicasEach: Int = 0,
        arguments: [String] = []
    ) async throws -> RedisClusterProcess {
        try await RedisServerProcess.blocking {
            try RedisClusterProcess(masters, replicasEach, arguments)
        }
    }

    private init(_ count: Int, _ replicasEach: Int, _ arguments: [String]) throws {
        let arguments =
            [
                "--cluster-node-timeout", "\(Self.nodeTimeoutMs)", "--repl-diskless-sync-delay",
                "0",
                // A replica is listed once it has received a message from its master.
                "--repl-ping-replica-period", "1",
                // Otherwise a master that gives its last slot away becomes a replica.
                "--cluster-allow-replica-migration", "no",
            ] + arguments
        self.arguments = arguments
        func node() throws -> RedisServerProcess {
            try RedisServerProcess(mode: .clusterNode, arguments: arguments)
        }
        masters = try (0..<count).map { _ in try node() }
        replicas = try (0..<count).map { _ in try (0..<replicasEach).map { _ in try node() } }
        for (index, master) in masters.enumerated() {
            let first = 16_384 * index / count
            let last = 16_384 * (index + 1) / count - 1
            try master.must("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
            try master.must("CLUSTER", "ADDSLOTSRANGE", "\(first)", "\(last)")
        }
        try meet(nodes)
        for (index, master) in masters.enumerated() {
            let id = try master.cli("CLUSTER", "MYID")
            for replica in replicas[index] {
                try replica.must("CLUSTER", "REPLICATE", id)
            }
        }
        for replica in replicas.joined() {
            try replica.await("INFO", "replication") { $0.contains("master_link_status:up") }
        }
        let endpoints = nodes.count
        for node in nodes {
            // A line for each node's own port in every range means that replicas are known, too.
            try node.await("CLUSTER", "SLOTS") { slots in
                self.nodes.filter { slots.contains("\($0.port)") }.count == endpoints
            }
            try node.await("CLUSTER", "INFO") { $0.contains("cluster_state:ok") }
        }
    }

    /// Every node that was ever part of it.
    package var nodes: [RedisServerProcess] {
        masters + replicas.joined() + added.withLock { $0 }
    }

    /// A URL that names the first two masters.
    package var url: String {
        "redis+cluster://" + masters.prefix(2).map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    }

    /// Adds a master without slots.
    package func addMaster() async throws -> RedisServerProcess {
        try await RedisServerProcess.blocking {
            let node = try RedisServerProcess(mode: .clusterNode, arguments: self.arguments)
            try self.meet(self.masters + [node])
            self.added.withLock { $0.append(node) }
            return node
        }
    }

    /// Removes a node without slots from the Cluster; it keeps running alone.
    package func remove(_ node: RedisServerProcess) async throws {
        try await RedisServerProcess.blocking {
            let id = try node.cli("CLUSTER", "MYID")
            for other in self.nodes where other !== node && other.pid != nil {
                try other.must("CLUSTER", "FORGET", id)
            }
            try node.must("CLUSTER", "RESET", "HARD")
        }
    }

    /// Starts to move a slot: requests for keys no longer at `source` go to `target`.
    package func beginMove(
        _ slot: Int,
        from source: RedisServerProcess,
        to target: RedisServerProcess
    ) async throws {
        try await RedisServerProcess.blocking {
            let (sourceID, targetID) = try (
                source.cli("CLUSTER", "MYID"), target.cli("CLUSTER", "MYID")
            )
            try target.must("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", sourceID)
            try source.must("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", targetID)
        }
    }

    /// Moves one key of a slot that is being moved.
    package func moveKey(
        _ key: String,
        from source: RedisServerProcess,
        to target: RedisServerProcess
    ) async throws {
        try await RedisServerProcess.blocking {
            try source.must("MIGRATE", "127.0.0.1", "\(target.port)", key, "0", "5000")
        }
    }

    /// Moves the remaining keys of a slot and assigns it to `target` permanently.
    package func finishMove(
        _ slot: Int,
        from source: RedisServerProcess,
        to target: RedisServerProcess
    ) async throws {
        try await RedisServerProcess.blocking {
            while true {
                let keys = try source.cli("CLUSTER", "GETKEYSINSLOT", "\(slot)", "100")
                    .split(separator: "\n").map(String.init)
                if keys.isEmpty { break }
                let move = ["MIGRATE", "127.0.0.1", "\(target.port)", "", "0", "5000", "KEYS"]
                let answer = try source.cli(move + keys)
                guard answer == "OK" || answer == "NOKEY" else {
                    throw RedisServerProcess.Failure(description: "MIGRATE: \(answer)")
                }
            }
            let id = try target.cli("CLUSTER", "MYID")
            // The target first: it must not lose the slot while no other node knows about it.
            for node in [target, source] + self.masters where node.pid != nil {
                try node.must("CLUSTER", "SETSLOT", "\(slot)", "NODE", id)
            }
        }
    }

    /// Introduces nodes to each other and waits until they serve.
    private func meet(_ nodes: [RedisServerProcess]) throws {
        for (index, node) in nodes.enumerated() {
            for other in nodes[..<index] {
                try node.must("CLUSTER", "MEET", "127.0.0.1", "\(other.port)")
            }
        }
        for node in nodes {
            try node.await("CLUSTER", "NODES") { list in
                !list.contains("handshake") && nodes.allSatisfy { list.contains(":\($0.port)@") }
            }
            try node.await("CLUSTER", "INFO") { $0.contains("cluster_state:ok") }
        }
    }
}
