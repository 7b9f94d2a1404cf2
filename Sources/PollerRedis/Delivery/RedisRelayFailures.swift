package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
package import RedisClient

/// The mail relay's rejections, in Redis: a hash `<ns>relay` with the fields of a ``RelayFailures``, for a day.
///
/// Several notifiers may write at once, and the last write wins. That is precise enough for a problem that lasts hours.
package struct RedisRelayFailures: RelayFailureStore {
    private static let fields = ["answer", "count", "since", "last", "accepted"]

    private let client: RedisClient
    private let key: String

    /// Creates the record of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: its namespace, as verified at start.
    package init(client: RedisClient, layout: StoreLayout) {
        self.client = client
        key = "\(layout.watchKeys.namespace)relay"
    }

    package func noteRefusal(_ answer: String, at now: Timestamp) async throws(StoreError) {
        let failures = RelayFailures(try await relayFailures(), refusing: answer, at: now)
        try await write([
            ("answer", failures.answer), ("count", "\(failures.count)"),
            ("since", "\(failures.since.ms)"), ("last", "\(failures.last.ms)"),
        ])
    }

    package func noteAcceptance(at now: Timestamp) async throws(StoreError) {
        try await write([("accepted", "\(now.ms)")])
    }

    package func relayFailures() async throws(StoreError) -> RelayFailures? {
        let replies = try await client.execute([
            RedisCommand("HMGET", [.string(key)] + Self.fields.map(RedisArgument.string))
        ])
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
        let values = replies.first?.array?.map { $0.string ?? "" } ?? []
        guard values.count == Self.fields.count, let count = Int(count: values[1]),
            let since = Timestamp(stored: values[2]), let last = Timestamp(stored: values[3])
        else { return nil }
        return RelayFailures(
            answer: values[0],
            count: count,
            since: since,
            last: last,
            accepted: Timestamp(stored: values[4])
        )
    }

    private func write(_ fields: [(String, String)]) async throws(StoreError) {
        let values = fields.flatMap { [RedisArgument.string($0.0), .string($0.1)] }
        let replies = try await client.execute([
            RedisCommand("HSET", [.string(key)] + values),
            RedisCommand("PEXPIRE", [.string(key), RedisArgument(RelayFailures.kept.ms)]),
        ])
        if let error = replies.lazy.compactMap(\.error).first { throw StoreError(.reply(error)) }
    }
}
