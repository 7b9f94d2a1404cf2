import PollerIdentity
package import PollerOperations
package import PollerQueue
import RedisClient

/// The idempotent requests in Redis: a string each, in the partition of its name, for a day.
///
/// *Shape*: `c <fingerprint> <seed> <claims> <end ms> <owner>` while it is claimed, at most 150 bytes; `k <fingerprint>
/// <response>` once it has a response. The caller encrypts the response (`RequestSeals`) under keys that are not in the
/// store. So there is nothing here to re-encrypt.
package struct RedisIdempotencyStore: IdempotencyStore {
    private let redis: RedisPartitions

    /// Creates the request store of a cluster.
    package init(_ redis: RedisPartitions) { self.redis = redis }

    package func claim(
        _ request: IdempotentRequest,
        owner: String
    ) async throws(StoreError) -> RequestClaim {
        let reply = try await run(
            request.isTakenWhenFull ? .requestAct : .requestClaim,
            request.name,
            [
                "claim", .string(request.name), .string(owner), .string(request.fingerprint),
                RedisArgument(IdempotentRequest.lease.ms), RedisArgument(IdempotentRequest.span.ms),
            ]
        )
        switch (reply.first?.string, reply.count) {
        case ("granted", 2): return .granted(seed: reply[1].string ?? "")
        case ("inUse", 2): return .inUse(for: .milliseconds(reply[1].count ?? 0))
        case ("reused", 1): return .reused
        case ("kept", 2): return .kept(reply[1].bytes ?? [])
        default: throw .corrupt("idempotent_request answered nonsense")
        }
    }

    package func keep(
        _ answer: [UInt8],
        of name: String,
        owner: String
    ) async throws(StoreError) -> Bool {
        let reply = try await run(
            .requestAct,
            name,
            [
                "keep", .string(name), .string(owner), .bytes(answer),
                RedisArgument(IdempotentRequest.span.ms),
            ]
        )
        return reply.first?.string == "kept"
    }

    package func release(
        _ name: String,
        owner: String,
        forgets: Bool
    ) async throws(StoreError) {
        _ = try await run(
            .requestAct,
            name,
            ["release", .string(name), .string(owner), forgets ? "1" : "0"]
        )
    }

    private func run(
        _ script: ScriptName,
        _ name: String,
        _ arguments: [RedisArgument]
    ) async throws(StoreError) -> [RedisValue] {
        try await redis.array(
            script,
            partition: redis.keys.fixedPartition(of: name),
            arguments,
            isDurable: true
        )
    }
}
