import PollerTesting
import RedisClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct RedisClientFaultTests {
    @Test("with many cancellations, no task gets the reply of another")
    func cancellationStorm() async throws {
        let server = try RedisServerProcess()
        let seed = SeededGenerator.newSeed()
        try await LiveRedis.withClient(server.url) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
            let answered = Tally()
            let cancelled = Tally()
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<32 {
                    group.addTask {
                        var random = SeededGenerator(seed: seed &+ UInt64(task))
                        for round in 0..<60 {
                            let text = "\(task):\(round)"
                            let call = Task {
                                try await client.send(RedisCommand("ECHO", [.string(text)]))
                            }
                            for _ in 0..<Int.random(in: 0...6, using: &random) {
                                await Task.yield()
                            }
                            if Bool.random(using: &random) { call.cancel() }
                            switch await call.result {
                            case .success(let reply):
                                #expect(reply.string == text, "TEST_SEED=\(seed)")
                                answered.add()
                            case .failure(let error):
                                #expect(error as? RedisError == .cancelled, "TEST_SEED=\(seed)")
                                cancelled.add()
                            }
                        }
                    }
                }
            }
            #expect(answered.value > 100, "TEST_SEED=\(seed)")
            #expect(cancelled.value > 100, "TEST_SEED=\(seed)")
        }
    }

    @Test("the late reply to a command that timed out is discarded")
    func timeout() async throws {
        let server = try RedisServerProcess()
        let configuration = LiveRedis.impatient(.seconds(3))
        try await LiveRedis.withClient(server.url, configuration: configuration) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
            let id = try await client.send(RedisCommand("CLIENT", ["ID"])).int
            await #expect(throws: RedisError.timedOut) {
                try await client.send(RedisCommand("DEBUG", ["SLEEP", "3.5"]))
            }
            #expect(try await client.send(RedisCommand("ECHO", ["mine"])).string == "mine")
            #expect(try await client.send(RedisCommand("CLIENT", ["ID"])).int == id, "kept")
        }
    }

    @Test("the connection to a hanging server is replaced when the server recovers")
    func stalled() async throws {
        let server = try RedisServerProcess()
        let configuration = LiveRedis.impatient(.seconds(3))
        try await LiveRedis.withClient(server.url, configuration: configuration) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
            let id = try await client.send(RedisCommand("CLIENT", ["ID"])).int
            server.pause()
            await #expect(throws: RedisError.timedOut) {
                try await client.send(RedisCommand("GET", ["k"]))
            }
            try await eventually("the connection is replaced") { !client.isConnected }
            await #expect(throws: RedisError.notConnected) {
                try await client.send(RedisCommand("GET", ["k"]))
            }
            server.resume()
            try await client.waitUntilConnected(timeout: .seconds(60))
            #expect(try await client.send(RedisCommand("CLIENT", ["ID"])).int != id)
        }
    }

    @Test("killing a server fails the written commands; waiting ones go to its successor")
    func killed() async throws {
        let server = try RedisServerProcess(persistence: .appendOnly)
        try await LiveRedis.withClient(server.url) { client in
            try await client.waitUntilConnected(timeout: .seconds(60))
            try await LiveRedis.withClient("unix://" + server.socketPath) { admin in
                let written = try await LiveRedis.heldWrite(by: client, admin: admin)
                server.kill()
                await #expect(throws: RedisError.connectionLost(maybeExecuted: true)) {
                    try await written.value
                }
            }
            try await eventually("the loss is noticed") { !client.isConnected }
            let waiting = Task { try await client.send(RedisCommand("SET", ["b", "2"])) }
            try server.restart()
            #expect(try await waiting.value.string == "OK")
            #expect(try await client.send(RedisCommand("GET", ["b"])).string == "2")
        }
    }

    @Test("commands succeed again after restarts under load")
    func restartUnderLoad() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            let successes = Tally()
            let load = Task {
                await withTaskGroup(of: Void.self) { group in
                    for task in 0..<32 {
                        group.addTask {
                            var round = 0
                            while !Task.isCancelled {
                                round += 1
                                let text = "\(task):\(round)"
                                do throws(RedisError) {
                                    let reply = try await client.send(
                                        RedisCommand("ECHO", [.string(text)])
                                    )
                                    #expect(reply.string == text)
                                    successes.add()
                                } catch .connectionLost, .cancelled {
                                    continue
                                } catch {
                                    Issue.record("\(error)")
                                    return
                                }
                            }
                        }
                    }
                }
            }
            for _ in 0..<3 {
                let before = successes.value
                try await eventually("commands succeed again") {
                    successes.value > before + 500
                }
                try server.restart()
            }
            load.cancel()
            await load.value
        }
    }

    @Test("a server that becomes a replica is left, and its error is returned")
    func readOnly() async throws {
        let server = try RedisServerProcess()
        try await LiveRedis.withClient(server.url) { client in
            let id = try await client.send(RedisCommand("CLIENT", ["ID"])).int ?? 0
            try await LiveRedis.withClient("unix://" + server.socketPath) { admin in
                _ = try await admin.send(RedisCommand("REPLICAOF", ["127.0.0.1", 1]))
                let error = await #expect(throws: RedisError.self) {
                    try await client.send(RedisCommand("SET", ["k", "v"]))
                }
                guard case .reply(let reply) = error else { return fail("\(error as Any)") }
                #expect(reply.code == "READONLY")
                _ = try await admin.send(RedisCommand("REPLICAOF", ["NO", "ONE"]))
            }
            #expect(try await client.send(RedisCommand("SET", ["k", "v"])).string == "OK")
            #expect(try await client.send(RedisCommand("CLIENT", ["ID"])).int ?? 0 > id)
        }
    }

    @Test("commands beyond the limit are rejected at once")
    func limit() async throws {
        let server = try RedisServerProcess()
        var configuration = LiveRedis.patient
        configuration.inFlightMax = 10
        configuration.commandBytesMax = 1_000
        try await LiveRedis.withClient(server.url, configuration: configuration) { client in
            let ping = RedisCommand("PING")
            let replies = try await client.pipeline(Array(repeating: ping, count: 10))
            #expect(replies.count == 10)
            await #expect(throws: RedisError.tooManyCommandsInFlight) {
                try await client.pipeline(Array(repeating: ping, count: 11))
            }
            await #expect(throws: RedisError.tooManyCommandsInFlight) {
                try await client.send(
                    RedisCommand("ECHO", [.bytes([UInt8](repeating: 0, count: 1_000))])
                )
            }
            let reply = try await client.send(ping)
            #expect(reply.string == "PONG")
        }
    }

    @Test("a reply beyond the limit fails only its own command")
    func replyTooLarge() async throws {
        let server = try RedisServerProcess()
        var configuration = LiveRedis.patient
        configuration.replyBytesMax = 10_000
        try await LiveRedis.withClient(server.url, configuration: configuration) { client in
            _ = try await client.send(RedisCommand("SETRANGE", ["k", 20_000, "x"]))
            await #expect(throws: RedisError.replyTooLarge("more than 10000 bytes")) {
                try await client.send(RedisCommand("GET", ["k"]))
            }
            #expect(try await client.send(RedisCommand("STRLEN", ["k"])).int == 20_001)
        }
    }
}
