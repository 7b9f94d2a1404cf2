import PollerQueue
import PollerTesting
import RedisClient
import Testing

@testable import PollerRedis

/// Tests that an error of the store states whether the operation may have been executed.
@Suite(.timeLimit(.minutes(5))) struct StoreErrorTests {
    /// Returns whether the operation may have been executed; `nil` if the error is another one.
    private func maybeExecuted(_ error: StoreError) -> Bool? {
        guard case .unavailable(_, let maybeExecuted) = error else { return nil }
        return maybeExecuted
    }

    private func reply(_ code: String) -> RedisError {
        .reply(RedisReplyError(code: code, message: "for a test"))
    }

    @Test("a command that was never sent, or was rejected at once, was not executed")
    func notExecuted() {
        let codes = ["LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "MISCONF", "NOAUTH"]
        let errors: [RedisError] =
            [.notConnected, .tooManyCommandsInFlight, .closed] + codes.map(reply)
        for error in errors { #expect(maybeExecuted(StoreError(error)) == false, "\(error)") }
    }

    @Test("a command without a reply, or with too few replicas, may have been executed")
    func perhapsExecuted() {
        let errors: [RedisError] = [
            .timedOut, .cancelled, .connectionLost(maybeExecuted: true), reply("NOREPLICAS"),
            reply("NOPERM"),
        ]
        for error in errors { #expect(maybeExecuted(StoreError(error)) == true, "\(error)") }
    }

    @Test("if a later partition rejects its part of an operation, the operation was begun")
    func laterPartition() async throws {
        let server = try RedisServerProcess()
        defer { server.stop() }
        try await withClient(of: server.url) { client in
            let redis = try await RedisHarness(client: client).redis
            let lanes = ["a", "b"].map { LaneID(unchecked: $0) }
            func redrive() async throws(StoreError) {
                try await redis.run(.redrive, for: lanes) { group in
                    group.map { _ in .string("none") }
                } _: { _, _ in
                    // The master becomes a replica.
                    _ = try? server.must("REPLICAOF", "127.0.0.1", "1")
                }
            }
            for wanted in [true, false] {
                do throws(StoreError) {
                    try await redrive()
                    fail("a replica accepted a write")
                } catch {
                    #expect(maybeExecuted(error) == wanted, "\(error)")
                }
            }
        }
    }
}
