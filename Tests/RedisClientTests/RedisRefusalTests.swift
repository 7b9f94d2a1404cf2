import Foundation
import PollerTesting
import RedisClient
import Testing

/// Tests of servers in each state in which they reject commands.
@Suite(.timeLimit(.minutes(5))) struct RedisRefusalTests {
    /// Returns the kind of error that a call throws.
    private func kind(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ call: () async throws -> Void
    ) async -> RedisReplyError.Kind? {
        do {
            try await call()
        } catch RedisError.reply(let error) {
            return error.kind
        } catch {
            Issue.record("\(error)", sourceLocation: sourceLocation)
        }
        return nil
    }

    private func write(_ client: RedisClient) async throws {
        _ = try await client.send(RedisCommand("SET", ["k", "v"]))
    }

    @Test("BUSY: the command is retried until the other script ends or the retry timeout is over")
    func busy() async throws {
        let server = try RedisServerProcess(arguments: ["--busy-reply-threshold", "20"])
        var configuration = LiveRedis.patient
        configuration.refusalRetryTimeout = .milliseconds(200)
        let endless = RedisCommand("EVAL", ["while true do end", 0])
        try await LiveRedis.withClient(server.url) { culprit in
            try await LiveRedis.withClient(server.url, configuration: configuration) { client in
                try await client.waitUntilConnected(timeout: .seconds(60))
                try await culprit.waitUntilConnected(timeout: .seconds(60))
                let looping = Task { _ = try? await culprit.send(endless) }
                try await eventually("the server is busy") {
                    try server.cli("PING").contains("BUSY")
                }
                #expect(await kind { try await write(client) } == .busy)
                var patience = LiveRedis.patient
                patience.refusalRetryTimeout = .seconds(30)
                let script = RedisScript(source: "return redis.call('INCR', KEYS[1])")
                let patient = RedisURL(target: .server(.unix(path: server.socketPath)))
                // It logs in before the server is busy again.
                _ = try server.cli("SCRIPT", "KILL")
                await looping.value
                try await LiveRedis.withClient("\(patient)", configuration: patience) { waiter in
                    try await waiter.waitUntilConnected(timeout: .seconds(60))
                    let again = Task { _ = try? await culprit.send(endless) }
                    try await eventually("the server is busy again") {
                        try server.cli("PING").contains("BUSY")
                    }
                    let waiting = Task { try await waiter.eval(script, keys: ["n"]) }
                    #expect(await kind { try await write(client) } == .busy)
                    _ = try server.cli("SCRIPT", "KILL")
                    #expect(try await waiting.value == .integer(1))
                    await again.value
                }
            }
        }
    }

    @Test("LOADING: a new client waits for the data, and a connected one gets the error")
    func loading() async throws {
        let server = try RedisServerProcess(persistence: .appendOnly)
        var configuration = LiveRedis.patient
        configuration.refusalRetryTimeout = .seconds(30)
        try await LiveRedis.withClient(server.url, configuration: configuration) { client in
            let fill = "for i = 1, 100000 do redis.call('SET', i, string.rep('x', 100)) end"
            _ = try await client.send(RedisCommand("EVAL", [.string(fill), 0]))
            // Loading all of them takes twenty seconds and more. The server processes commands
            // every 1,024 keys meanwhile. It is stopped when the test has what it needs.
            try server.must("CONFIG", "SET", "key-load-delay", "200")
            let reloading = Task.detached { _ = try? server.cli("DEBUG", "LOADAOF") }
            try await eventually("it loads") {
                try server.cli("PING").contains("LOADING")
            }
            let waiting = Task { try await client.send(RedisCommand("GET", ["100000"])) }
            try await eventually("the server has rejected the client's command") {
                try server.cli("INFO", "commandstats").contains("cmdstat_get:")
            }
            try server.must("CONFIG", "SET", "key-load-delay", "0")
            #expect(try await waiting.value.string?.count == 100)
            await reloading.value
        }
    }

    @Test("READONLY, MASTERDOWN and NOREPLICAS: a replica alone and a master alone")
    func replication() async throws {
        let server = try RedisServerProcess()
        var configuration = LiveRedis.patient
        configuration.refusalRetryTimeout = .milliseconds(50)
        try await LiveRedis.withClient(server.url, configuration: configuration) { client in
            try server.must("CONFIG", "SET", "min-replicas-to-write", "1")
            #expect(await kind { try await write(client) } == .tooFewReplicas)
            try server.must("CONFIG", "SET", "min-replicas-to-write", "0")
            try server.must("CONFIG", "SET", "replica-serve-stale-data", "no")
            try server.must("REPLICAOF", "127.0.0.1", "1")
            let get = RedisCommand("GET", ["k"])
            #expect(await kind { _ = try await client.send(get) } == .masterDown)
            try server.must("CONFIG", "SET", "replica-serve-stale-data", "yes")
            #expect(await kind { try await write(client) } == .readOnly)
        }
    }

    @Test("MISCONF and OOM: writes are rejected while they cannot be stored")
    func full() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            _ = try server.cli("CONFIG", "SET", "save", "1 1")
            try server.must("CONFIG", "SET", "rdbcompression", "yes")
            _ = try server.cli("CONFIG", "SET", "dbfilename", "dump.rdb")
            // A folder of that name cannot be replaced by a file.
            let block = server.directory.appendingPathComponent("dump.rdb/x")
            try FileManager.default.createDirectory(at: block, withIntermediateDirectories: true)
            try await write(client)
            try await eventually("a snapshot fails") {
                _ = try server.cli("BGSAVE")
                return try server.cli("INFO", "persistence").contains("rdb_last_bgsave_status:err")
            }
            #expect(await kind { try await write(client) } == .cannotPersist)
            _ = try server.cli("CONFIG", "SET", "save", "")
            try await write(client)
            try server.must("CONFIG", "SET", "maxmemory", "1")
            #expect(await kind { try await write(client) } == .outOfMemory)
            let script = RedisScript(source: "#!lua\nreturn redis.call('SET', KEYS[1], 'v')")
            #expect(await kind { _ = try await client.eval(script, keys: ["k"]) } == .outOfMemory)
            #expect(try await client.send(RedisCommand("DEL", ["k"])).int == 1)
        }
    }

    @Test("NOAUTH, WRONGPASS and NOPERM: missing logins and permissions")
    func rights() async throws {
        let server = try RedisServerProcess(arguments: [
            "--user", "bob", "on", ">x", "+@all", "-set", "~*",
        ])
        try await LiveRedis.withClient("redis://bob:x@127.0.0.1:\(server.port)") { client in
            #expect(await kind { try await write(client) } == .notPermitted)
            let login = RedisCommand("AUTH", ["bob", "wrong"])
            #expect(await kind { _ = try await client.send(login) } == .loginNeeded)
        }
    }
}
