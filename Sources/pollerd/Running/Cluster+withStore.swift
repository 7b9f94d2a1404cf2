import Logging
import RedisClient

extension Cluster {
    /// Opens the store of a configuration while a command uses it.
    ///
    /// The command reports problems. The log contains errors only.
    static func withStore<Answer: Sendable>(
        _ flags: Flags,
        as label: String,
        _ body: (Cluster, Settings, Logger) async throws -> Answer
    ) async throws -> Answer {
        let settings = try Settings(try flags.configuration())
        LoggingSystem.bootstrap { label in
            LineLogHandler(label: label, format: .text, level: .error)
        }
        let logger = Logger(label: label)
        let client = RedisClient(
            url: settings.redisURL,
            configuration: settings.redis,
            logger: logger
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            // The connection's loop, which ends with the command.
            group.addTask { try await client.run() }
            defer { group.cancelAll() }
            let cluster = try await join(
                client,
                namespace: settings.namespace,
                partitions: settings.partitions,
                durability: settings.durability,
                search: settings.searchKeys,
                logger: logger
            )
            return try await body(cluster, settings, logger)
        }
    }
}
