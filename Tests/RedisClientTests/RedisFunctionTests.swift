import Logging
import NIOCore
import PollerTesting
import Testing

@testable import RedisClient

/// Tests of functions on servers that support them, and of scripts by digest on others.
@Suite(.timeLimit(.minutes(5))) struct RedisFunctionTests {
    /// Appends how it was run to a list, and returns the list.
    private let script = Self.script(register: "")

    /// A script that is the only function of its library; `more` gives it another text.
    private static func script(register more: String) -> RedisScript {
        let body = """
            redis.call('RPUSH', KEYS[1], HOW)
            if ARGV[1] == 'fail' then return redis.error_reply('LEASELOST 7') end
            return redis.call('LRANGE', KEYS[1], 0, -1)
            """
        let library = RedisLibrary(
            prefix: "test",
            body: """
                \(more)
                redis.register_function(LIBRARY .. '_run', function(KEYS, ARGV)
                  local HOW = 'function'
                  \(body)
                end)
                """
        )
        return RedisScript(
            source: "#!lua flags=allow-oom\nlocal HOW = 'script'\n\(body)",
            function: RedisFunction("run", of: library)
        )
    }

    private func runs(
        _ client: RedisClient,
        _ script: RedisScript? = nil,
        _ key: String = "k"
    ) async throws -> [String] {
        let reply = try await client.eval(script ?? self.script, keys: [key], arguments: [""])
        return (reply.array ?? []).compactMap(\.string)
    }

    @Test("a function's library is loaded when the server does not know it")
    func loaded() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            #expect(try await runs(client) == ["function"])
            #expect(try await runs(client).count == 2)
            try server.must("FUNCTION", "FLUSH")
            #expect(try await runs(client) == ["function", "function", "function"])
            // A restarted server without its data knows no library.
            try server.restart()
            #expect(try await runs(client) == ["function"])
            #expect(try server.cli("INFO", "commandstats").contains("cmdstat_eval") == false)
        }
    }

    @Test("many calls that find the library missing run once each")
    func together() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 { group.addTask { _ = try await runs(client) } }
                try await group.waitForAll()
            }
            #expect(try await runs(client) == Array(repeating: "function", count: 101))
        }
    }

    @Test("two releases have a library each, and neither replaces the other")
    func releases() async throws {
        let server = try RedisServerProcess()
        let next = Self.script(register: "-- of the next release")
        #expect(next.function?.library.name != script.function?.library.name)
        try await LiveRedis.withClient(server.url) { client in
            for _ in 0..<3 {
                _ = try await runs(client)
                _ = try await runs(client, next)
            }
            let stats = try server.cli("INFO", "commandstats")
            #expect(stats.firstMatch(of: /cmdstat_function\|load:calls=(\d+)/)?.1 == "2")
            #expect(try await client.load(next.function!.library) == nil)
        }
    }

    @Test("an error reply of a function is returned and not retried as a script")
    func errors() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            for count in 1...2 {
                await #expect(
                    throws: RedisError.reply(RedisReplyError(code: "LEASELOST", message: "7"))
                ) { try await client.eval(script, keys: ["k"], arguments: ["fail"]) }
                let length = try await client.send(RedisCommand("LLEN", ["k"])).int
                #expect(length == count)
            }
        }
    }

    @Test(
        "without permission for functions, scripts run by digest and one warning is logged",
        arguments: ["-fcall", "-function", "-function|load", "renamed"]
    )
    func refused(_ right: String) async throws {
        let arguments =
            right == "renamed"
            ? ["--rename-command", "FCALL", ""]
            : ["--user", "default", "on", "nopass", "~*", "&*", "+@all", right]
        let server = try RedisServerProcess(arguments: arguments)
        let log = RecordedLog()
        try await LiveRedis.withClient(server.url, logger: log.logger) { client in
            #expect(try await runs(client) == ["script"])
            #expect(try await runs(client) == ["script", "script"])
            let durability = RedisDurability(replicas: 1, timeout: .milliseconds(1))
            let durable = try await client.eval(
                script,
                keys: ["k"],
                arguments: [""],
                waitFor: durability
            )
            #expect(durable.reply.array?.count == 3)
            #expect(log.all.filter { $0.contains("rejected functions") }.count == 1)
            #expect(try server.cli("INFO", "commandstats").contains("cmdstat_evalsha"))
        }
    }

    @Test("on a full server without the library, the code runs as a script")
    func full() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            try server.must("CONFIG", "SET", "maxmemory", "1")
            #expect(try await runs(client) == ["script"])
            try server.must("CONFIG", "SET", "maxmemory", "0")
        }
        try await LiveRedis.withClient(server.url) { client in
            #expect(try await runs(client) == ["script", "function"])
            try server.must("CONFIG", "SET", "maxmemory", "1")
            // A limit of the test, not of the client: this function may write only when there is
            // memory.
            await #expect(throws: RedisError.self) { try await runs(client) }
        }
    }

    @Test("a function waits for replicas, also when its library is loaded first")
    func durable() async throws {
        let master = try RedisServerProcess(arguments: ["--repl-diskless-sync-delay", "0"])
        let replica = try RedisServerProcess(
            arguments: ["--replicaof", "127.0.0.1 \(master.port)"]
        )
        try replica.await("INFO", "replication") { $0.contains("master_link_status:up") }
        let durability = RedisDurability(replicas: 1, timeout: .seconds(20))
        try await LiveRedis.withClient(master.url) { client in
            for count in 1...2 {
                let written = try await client.eval(
                    script,
                    keys: ["k"],
                    arguments: [""],
                    waitFor: durability
                )
                #expect(written.replicas == 1 && written.reply.array?.count == count)
            }
            // A loaded library is replicated too: a promoted replica knows it.
            #expect(try replica.cli("FUNCTION", "LIST").contains(script.function!.library.name))
        }
    }

    @Test("in a Cluster every master gets the library with its first call")
    func cluster() async throws {
        let cluster = try await RedisClusterProcess.start()
        try await LiveRedis.withClient(cluster.url) { client in
            for index in 0..<20 {
                #expect(try await runs(client, nil, "k\(index)") == ["function"])
            }
            let listed = try await client.sendToMasters(RedisCommand("FUNCTION", ["LIST"]))
            #expect(listed.count == 3 && listed.allSatisfy { $0.reply.array?.count == 1 })
        }
    }

    @Test("functions are tried again some time after they were rejected")
    func patience() {
        var use = RedisFunctionUse()
        #expect(use.isEnabled)
        let isFirst = use.refused(now: RedisInstant(.now()))
        #expect(isFirst && !use.isEnabled)
        let isReportedAgain = use.refused(now: RedisInstant(uptimeNs: 0))
        #expect(!isReportedAgain && use.isEnabled)
    }
}
