import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import PollerHTTP

@Suite("Connecting to hosts with several addresses")
struct AddressRaceTests {
    private static let hello = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"

    @Test("the address that responds is found, and tried first from then on")
    func addresses() async throws {
        try await ScriptedServer.run([.send(Self.hello), .close]) { server in
            let client = PooledClient()
            let origin = HTTPOrigin(isSecure: false, host: "some.test", port: server.port)
            let addresses = [
                try SocketAddress(ipAddress: "127.0.0.1", port: 1),
                try SocketAddress(ipAddress: "127.0.0.1", port: server.port),
            ]
            for _ in 0..<2 {
                let reply = try await client.get("/", origin, addresses).answered()
                #expect(reply.status == 200)
            }
            await client.close()
            #expect(
                server.requests.first?.text.contains("host: some.test:\(server.port)\r\n") == true
            )
        }
    }

    /// Runs `body` with a client and an origin.
    private func withClient(_ body: (PooledClient, HTTPOrigin) async throws -> Void) async throws {
        let client = PooledClient()
        try await body(client, HTTPOrigin(isSecure: false, host: "some.test", port: 80))
        await client.close()
    }

    @Test("an unresponsive address delays one request by 250 ms, and later ones not at all")
    func silentAddress() async throws {
        try await ScriptedServer.run([.send(Self.hello), .close]) { server in
            let silent = try await SilentListener()
            let addresses = [
                try #require(silent.address),
                try SocketAddress(ipAddress: "127.0.0.1", port: server.port),
            ]
            try await withClient { client, origin in
                let began = NIODeadline.now()
                let first = await client.get("/", origin, addresses)
                #expect(try first.answered().status == 200 && first?.peer == addresses[1])
                #expect(NIODeadline.now() - began >= .milliseconds(240))
                // Now it accepts connections but answers no request, so it would get one if it were tried first.
                try await silent.accept()
                let second = await client.get("/", origin, addresses)
                #expect(try second.answered().status == 200 && second?.peer == addresses[1])
            }
            try await silent.close()
        }
    }

    @Test(
        "a retry starts with its first address and uses no connection to another"
    )
    func retry() async throws {
        try await ScriptedServer.run([.send(Self.hello)]) { one in
            try await ScriptedServer.run([.send(Self.hello)]) { other in
                let addresses = try [one, other].map {
                    try SocketAddress(ipAddress: "127.0.0.1", port: $0.port)
                }
                try await withClient { client, origin in
                    for _ in 0..<2 { _ = try await client.get("/", origin, addresses).answered() }
                    #expect(one.requests.count == 2 && one.connections == 1)
                    let rotated: [SocketAddress] = addresses.reversed()
                    let retried = await client.get("/", origin, rotated, isRetry: true)
                    let reply = try retried.answered()
                    #expect(reply.status == 200)
                    #expect(retried?.peer == addresses[1] && other.requests.count == 1)
                }
            }
        }
    }

    @Test("a connection to an address that the host no longer has is closed unused")
    func moved() async throws {
        try await ScriptedServer.run([.send(Self.hello)]) { old in
            try await ScriptedServer.run([.send(Self.hello)]) { new in
                let addresses = try [old, new].map {
                    try SocketAddress(ipAddress: "127.0.0.1", port: $0.port)
                }
                try await withClient { client, origin in
                    for address in addresses {
                        _ = try await client.get("/", origin, [address]).answered()
                    }
                    #expect(old.requests.count == 1 && new.requests.count == 1)
                    try await eventually { old.ended == 1 }
                }
            }
        }
    }

    @Test("requests that wait for a connection get one to their own address only")
    func waiting() async throws {
        // All requests wait before the first one is answered.
        try await ScriptedServer.run([.pause(ms: 200), .send(Self.hello)]) { one in
            try await ScriptedServer.run([.send(Self.hello)]) { other in
                let addresses = try [one, other].map {
                    try SocketAddress(ipAddress: "127.0.0.1", port: $0.port)
                }
                var limits = ConnectionLimits()
                limits.connectionsMax = 1
                let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
                let client = PooledClient(limits: limits, group: group)
                let origin = HTTPOrigin(isSecure: false, host: "some.test", port: 80)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for number in 0..<6 {
                        let address = addresses[number % 2]
                        tasks.addTask {
                            let result = await client.get("/", origin, [address])
                            let reply = try result.answered()
                            #expect(reply.status == 200 && result?.peer == address)
                        }
                    }
                    try await tasks.waitForAll()
                }
                #expect(one.requests.count == 3 && other.requests.count == 3)
                await client.close()
                try await group.shutdownGracefully()
            }
        }
    }

    @Test("a refused connection fails no request that waits for another address")
    func refusedElsewhere() async throws {
        let silent = try await SilentListener()
        let open = try #require(silent.address)
        let closedPort = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        let attempts = Mutex(0)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let client = PooledClient(
            trustRoots: .default,
            limits: ConnectionLimits(),
            group: group,
            connectAddress: { address in
                attempts.withLock { $0 += 1 }
                return address
            }
        )
        let origin = HTTPOrigin(isSecure: false, host: "some.test", port: 80)
        async let waiting = client.get("/", origin, [open])
        try await eventually { attempts.withLock(\.self) == 1 }
        let refused = await client.get("/", origin, [closedPort])
        guard case .unreachable? = refused?.failure else {
            Issue.record("\(String(describing: refused))")
            return
        }
        await client.close()
        #expect(await waiting?.failure == .cancelled)
        try await silent.close()
        try await group.shutdownGracefully()
    }

    @Test("a request fails once when no address responds")
    func noAddress() async throws {
        let closedPorts = try (1...3).map { try SocketAddress(ipAddress: "127.0.0.\($0)", port: 1) }
        try await withClient { client, origin in
            let result = await client.get("/", origin, closedPorts)
            guard case .unreachable? = result?.failure else {
                Issue.record("\(String(describing: result))")
                return
            }
            #expect(result?.peer == nil)
        }
    }
}

/// A port that neither accepts nor refuses connections, because its backlog is full.
private struct SilentListener {
    private let listener: any Channel
    private let waiting: [any Channel]

    init() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        listener = try await ServerBootstrap(group: group)
            .serverChannelOption(ChannelOptions.backlog, value: 1)
            .serverChannelOption(ChannelOptions.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0).get()
        var waiting: [any Channel] = []
        // The first connection that times out is the last one.
        while waiting.count < 16,
            let port = listener.localAddress?.port,
            let channel = try? await ClientBootstrap(group: group)
                .connectTimeout(.milliseconds(300))
                .connect(host: "127.0.0.1", port: port).get()
        {
            waiting.append(channel)
        }
        self.waiting = waiting
    }

    var address: SocketAddress? { listener.localAddress }

    /// Accepts the waiting connections, and later ones at once; returns when it does.
    func accept() async throws {
        try await listener.setOption(ChannelOptions.autoRead, value: true).get()
        listener.read()
        guard let address else { return }
        let group = MultiThreadedEventLoopGroup.singleton
        let channel = try await ClientBootstrap(group: group).connect(to: address).get()
        try await channel.close().get()
    }

    func close() async throws {
        for channel in waiting + [listener] { try await channel.close().get() }
    }
}
