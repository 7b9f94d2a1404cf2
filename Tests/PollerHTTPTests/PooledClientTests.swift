import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import PollerHTTP

@Suite("PooledClient over real sockets")
struct PooledClientTests {
    private static let hello = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"

    @Test("requests are sent completely, and share a connection in sequence")
    func keepAlive() async throws {
        try await ScriptedServer.run([.send(Self.hello)]) { server in
            let client = PooledClient()
            for number in 1...3 {
                let reply = try await client.get("/\(number)?a=b", server).answered()
                #expect(reply.status == 200 && String(buffer: reply.body) == "hello")
            }
            let posted = try await client.post("/", "body", server).answered()
            #expect(posted.status == 200)
            await client.close()
            #expect(server.connections == 1)
            let first = try #require(server.requests.first)
            #expect(
                first.text
                    == "GET /1?a=b HTTP/1.1\r\nhost: 127.0.0.1:\(server.port)\r\na: b\r\n\r\n"
            )
            #expect(server.requests.last?.text.hasSuffix("content-length: 4\r\n\r\nbody") == true)
        }
    }

    @Test("concurrent requests each get their own response")
    func concurrent() async throws {
        try await ScriptedServer.run { request in
            let path = request.text.split(separator: " ")[1]
            return [.send("HTTP/1.1 200 OK\r\ncontent-length: \(path.count)\r\n\r\n\(path)")]
        } _: { server in
            let client = PooledClient()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<20 {
                    group.addTask {
                        for number in 0..<20 {
                            let path = "/\(worker)/\(number)"
                            let reply = try await client.get(path, server).answered()
                            #expect(String(buffer: reply.body) == path)
                        }
                    }
                }
                try await group.waitForAll()
            }
            await client.close()
            #expect(server.connections <= 20)
        }
    }

    @Test("a request stays on the event loop of its caller")
    func loops() async throws {
        try await ScriptedServer.run([.send(Self.hello)]) { server in
            let client = PooledClient()
            let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
            for loop in loops {
                try await withTaskExecutorPreference(LoopExecutor(loop)) {
                    for _ in 0..<3 {
                        #expect(loop.inEventLoop)
                        _ = try await client.get("/", server).answered()
                        #expect(loop.inEventLoop)
                    }
                }
            }
            await client.close()
            #expect(server.connections == loops.count)
        }
    }

    /// A class, because the server waits for it on another thread.
    private final class Rejections: Sendable {
        let count = Mutex(0)
    }

    @Test("requests beyond the connection limit wait, and those beyond the queue limit fail")
    func bounds() async throws {
        var limits = ConnectionLimits()
        limits.connectionsMax = 2
        limits.waitingMax = 3
        let rejections = Rejections()
        try await ScriptedServer.run { _ in
            // No place is free until three of the requests have failed.
            [.wait { rejections.count.withLock { $0 >= 3 } }, .send(Self.hello)]
        } _: { [limits] server in
            let client = PooledClient(limits: limits)
            let outcomes = await withTaskGroup(of: HTTPResult?.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let result = await client.get("/", server, timeoutMs: 60_000)
                        if result?.failure == .tooManyWaiting {
                            rejections.count.withLock { $0 += 1 }
                        }
                        return result
                    }
                }
                return await group.reduce(into: [HTTPResult?]()) { $0.append($1) }
            }
            await client.close()
            let rejected = outcomes.count { $0?.failure == .tooManyWaiting }
            // Two requests are sent when their connections are open; until then they wait too.
            #expect((3...5).contains(rejected))
            #expect(outcomes.count { (try? $0.answered()) != nil } == 8 - rejected)
            #expect(server.connections <= 2)
        }
    }

    @Test("a deadline ends a request in any phase")
    func deadlines() async throws {
        let slow: [[ScriptedServer.Step]] = [
            [],
            [.send("HTTP/1.1 200 OK\r\ncontent-le")],
            [.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")],
            [.drip("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n", everyMs: 20)],
            [.send("HTTP/1.1 100 Continue\r\n\r\n")],
        ]
        for steps in slow {
            try await ScriptedServer.run(steps) { server in
                let client = PooledClient()
                let began = NIODeadline.now()
                let result = await client.get("/", server, timeoutMs: 1000)
                let ms = (NIODeadline.now() - began).nanoseconds / 1_000_000
                #expect(result?.failure == .deadline, "\(steps)")
                #expect((990..<60_000).contains(ms), "\(ms)")
                // On a busy machine the deadline may pass before the connection is open; that
                // connection is kept.
                try await eventually { server.ended == server.requests.count }
                await client.close()
            }
        }
    }

    @Test("a closed port, a missing address and a closed client fail")
    func unreachable() async throws {
        let client = PooledClient()
        let closedPort = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        let refused = await client.get("/", at: closedPort)
        guard case .unreachable? = refused?.failure else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(refused?.sentAt == nil)
        let origin = HTTPOrigin(isSecure: false, host: "nobody.test", port: 80)
        let unknown = await client.get("/", origin, [])
        #expect(unknown?.failure == .unresolved)
        await client.close()
        #expect(await client.get("/", at: closedPort) == nil)
    }

    @Test("a connection to another address gets no byte")
    func wrongPeer() async throws {
        try await ScriptedServer.run([.send(Self.hello)]) { server in
            let elsewhere = try SocketAddress(ipAddress: "127.0.0.1", port: server.port)
            let client = PooledClient(
                trustRoots: .default,
                limits: ConnectionLimits(),
                group: .singleton,
                connectAddress: { _ in elsewhere }
            )
            let judged = try SocketAddress(ipAddress: "127.0.0.2", port: server.port)
            #expect(await client.get("/", at: judged)?.failure == .wrongPeer)
            await client.close()
            #expect(server.requests.isEmpty)
        }
    }

    @Test("idle connections are closed after a time, old ones after their last response")
    func ageing() async throws {
        var idle = ConnectionLimits()
        idle.idleMs = 1
        var worn = ConnectionLimits()
        worn.ageMs = 0
        try await ScriptedServer.run([.send(Self.hello)]) { [idle, worn] server in
            let brief = PooledClient(limits: worn)
            _ = try await brief.get("/", server).answered()
            try await eventually { server.ended == 1 }
            let patient = PooledClient(limits: idle)
            _ = try await patient.get("/", server).answered()
            try await eventually { server.ended == 2 }
            await brief.close()
            await patient.close()
        }
    }

    @Test("closing cancels requests, and a released client closes its connections")
    func closing() async throws {
        try await ScriptedServer.run([]) { server in
            let client = PooledClient()
            async let hanging = client.get("/", server)
            try await eventually { server.requests.count == 1 }
            await client.close()
            #expect(await hanging?.failure == .cancelled)
            try await eventually { server.ended == 1 }
        }
        try await ScriptedServer.run([.send(Self.hello)]) { server in
            _ = try await PooledClient().get("/", server).answered()
            try await eventually { server.ended == 1 }
        }
    }
}

/// One event loop as a task executor.
private final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

// MARK: - Helpers

/// A request with another outcome than the test expects.
struct Unanswered: Error {
    let result: HTTPResult?
}

extension HTTPResult {
    /// Why there is no complete response.
    var failure: HTTPFailure? {
        switch outcome {
        case .answered: nil
        case .cutShort(_, let failure), .failed(let failure): failure
        }
    }
}

extension HTTPResult? {
    /// Returns the complete response.
    func answered() throws(Unanswered) -> HTTPReply {
        guard case .answered(let reply)? = self?.outcome else { throw Unanswered(result: self) }
        return reply
    }
}

extension PooledClient {
    func get(
        _ path: String,
        _ server: ScriptedServer,
        timeoutMs: Int64 = 60_000
    ) async -> HTTPResult? {
        // If the server does not listen, the test has already failed.
        let address = try? SocketAddress(ipAddress: "127.0.0.1", port: server.port)
        guard let address else { return nil }
        return await get(path, at: address, timeoutMs: timeoutMs)
    }

    func get(
        _ path: String,
        at address: SocketAddress,
        timeoutMs: Int64 = 60_000
    ) async -> HTTPResult? {
        let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: address.port ?? 0)
        return await get(path, origin, [address], timeoutMs: timeoutMs)
    }

    func get(
        _ path: String,
        _ origin: HTTPOrigin,
        _ addresses: [SocketAddress],
        isRetry: Bool = false,
        timeoutMs: Int64 = 60_000
    ) async -> HTTPResult? {
        await send(
            HTTPCall(
                .GET,
                path,
                at: origin,
                addresses: addresses,
                isRetry: isRetry,
                headers: ["a": "b"],
                deadline: .now() + .milliseconds(timeoutMs),
                bodyBytesMax: 1 << 20
            )
        )
    }

    func post(_ path: String, _ body: String, _ server: ScriptedServer) async -> HTTPResult? {
        let address = try? SocketAddress(ipAddress: "127.0.0.1", port: server.port)
        guard let address else { return nil }
        return await send(
            HTTPCall(
                .POST,
                path,
                at: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: server.port),
                addresses: [address],
                headers: [:],
                body: ByteBuffer(string: body),
                deadline: .now() + .seconds(60),
                bodyBytesMax: 1 << 20
            )
        )
    }
}

/// Waits at most a minute until a condition set by another thread is true.
func eventually(_ fact: () -> Bool) async throws {
    for _ in 0..<6000 {
        if fact() { return }
        // Nothing signals a change of the condition.
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the condition never became true")
}
