package import RedisClient

/// A field of a hash that all processes of a cluster must agree on: whoever comes first sets it.
///
/// Read before it is written: a store that is full refuses every write that may need memory, and a
/// process must be able to start into it.
package enum AgreedField {
    /// The field's value: what is stored, or `fresh` when nobody has stored anything.
    package static func value(
        of field: String,
        in key: String,
        on client: RedisClient,
        fresh: String
    ) async throws(RedisError) -> RedisValue {
        let read = RedisCommand("HGET", [.string(key), .string(field)])
        let stored = try await client.send(read)
        if stored != .null { return stored }
        let write = RedisCommand("HSETNX", [.string(key), .string(field), .string(fresh)])
        let replies = try await client.pipeline([write, read])
        if let error = replies.lazy.compactMap(\.error).first { throw .reply(error) }
        return replies[1]
    }
}
