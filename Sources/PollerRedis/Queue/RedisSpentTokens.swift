import PollerDeliveries
import PollerIdentity
package import PollerQueue
package import RedisClient

/// The spent tokens in Redis: a key for each, `<ns>spent:<id>`, which expires with the token.
///
/// A key has about 100 bytes and lives for an hour at most. Each call is a command of one key, so the result is
/// unambiguous: the first `SET NX` of any gateway succeeds.
package struct RedisSpentTokens: SpentTokens {
    private let client: RedisClient
    private let namespace: String

    /// Creates the token store of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: its namespace, as verified at start.
    package init(client: RedisClient, layout: StoreLayout) {
        self.client = client
        namespace = layout.watchKeys.namespace
    }

    package func spend(_ id: String, for life: Duration) async throws(StoreError) -> Bool {
        let reply = try await client.execute(
            RedisCommand(
                "SET",
                [.string(key(id)), "1", "NX", "PX", RedisArgument(max(life.ms, 1))]
            )
        )
        return reply != .null
    }

    package func isSpent(_ id: String) async throws(StoreError) -> Bool {
        try await client.execute(RedisCommand("EXISTS", [.string(key(id))])).int == 1
    }

    private func key(_ id: String) -> String { "\(namespace)spent:\(id)" }
}
