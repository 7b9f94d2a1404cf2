import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import PollerHTTP

@Suite("Cancelling requests")
struct CancellationTests {
    /// A class, because a server waits for it on another thread.
    private final class Condition: Sendable {
        let isTrue = Mutex(false)
    }

    @Test(
        "a request can be cancelled before it starts, after it was sent and during its response"
    )
    func everyStep() async throws {
        let halves: [[ScriptedServer.Step]] = [
            [],
            [.send("HTTP/1.1 200 OK\r\n")],
            [.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")],
        ]
        for steps in halves {
            try await ScriptedServer.run(steps) { server in
                let client = PooledClient()
                let request = Task { await client.get("/", server) }
                try await eventually { server.requests.count == 1 }
                // Time for the server's bytes to arrive, which cannot be observed here. If it is
                // too short, the test covers less but passes.
                try await Task.sleep(for: .milliseconds(20))
                request.cancel()
                let result = await request.value
                #expect(result?.failure == .cancelled, "\(steps)")
                try await eventually { server.ended == 1 }
                await client.close()
            }
        }
        try await ScriptedServer.run([]) { server in
            let client = PooledClient()
            let early = Task {
                while !Task.isCancelled { await Task.yield() }
                return await client.get("/", server)
            }
            early.cancel()
            #expect(await early.value?.failure == .cancelled)
            await client.close()
        }
    }

    @Test("a cancelled request leaves the queue, and the next one is served")
    func inLine() async throws {
        var limits = ConnectionLimits()
        limits.connectionsMax = 1
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
        let isCancelled = Condition()
        try await ScriptedServer.run { _ in
            [.wait { isCancelled.isTrue.withLock(\.self) }, .send(answer)]
        } _: { [limits] server in
            let client = PooledClient(limits: limits)
            let first = Task { await client.get("/first", server) }
            try await eventually { server.requests.count == 1 }
            let second = Task { await client.get("/second", server) }
            let third = Task { await client.get("/third", server) }
            second.cancel()
            #expect(await second.value?.failure == .cancelled)
            isCancelled.isTrue.withLock { $0 = true }
            #expect(try await first.value.answered().status == 200)
            #expect(try await third.value.answered().status == 200)
            await client.close()
            #expect(server.requests.map(\.request) == [1, 2])
            #expect(!server.requests.contains { $0.text.contains("/second") })
        }
    }

    @Test("requests get their own responses while others are cancelled or time out")
    func neverMixed() async throws {
        try await ScriptedServer.run { request in
            let path = request.text.split(separator: " ")[1]
            let number = Int(path.split(separator: "/").last ?? "") ?? 0
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: \(path.count)\r\n\r\n"
            // Some responses arrive at once, some late, some in two parts.
            switch number % 4 {
            case 0: return [.send(answer + path)]
            case 1: return [.pause(ms: Int64(number % 7)), .send(answer + path)]
            case 2: return [.send(answer), .pause(ms: Int64(number % 5)), .send(String(path))]
            default: return [.send(answer + path + (number % 12 == 3 ? "HTTP/1.1 200 OK\r\n" : ""))]
            }
        } _: { server in
            var limits = ConnectionLimits()
            limits.connectionsMax = 8
            let client = PooledClient(limits: limits)
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        for number in 0..<60 {
                            let path = "/\(worker)/\(number)"
                            let hurried = number % 5 == 1
                            let request = Task {
                                await client.get(path, server, timeoutMs: hurried ? 3 : 60_000)
                            }
                            if number % 3 == 0 {
                                await Task.yield()
                                request.cancel()
                            }
                            let result = await request.value
                            switch result?.outcome {
                            case .answered(let reply)?:
                                #expect(String(buffer: reply.body) == path)
                            case .cutShort(_, .cancelled)?, .failed(.cancelled)?:
                                #expect(number % 3 == 0)
                            case .cutShort(_, .deadline)?, .failed(.deadline)?: #expect(hurried)
                            default: Issue.record("\(path): \(String(describing: result))")
                            }
                        }
                    }
                }
            }
            await client.close()
        }
    }
}
