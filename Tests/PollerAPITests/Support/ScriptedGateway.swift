import NIOCore
import NIOPosix
import Synchronization

/// A live gateway with scripted responses, on a free port.
///
/// A class, because the test and its connections share the received requests.
final class ScriptedGateway: Sendable {
    /// One connection: its request, and the means to respond.
    struct Connection: Sendable {
        /// The first line of the request.
        let request: String
        fileprivate let writer: NIOAsyncChannelOutboundWriter<ByteBuffer>

        /// Returns a query parameter, still encoded.
        func query(_ name: String) -> String? {
            request.split { $0 == "?" || $0 == "&" || $0 == " " }
                .first { $0.hasPrefix(name + "=") }
                .map { String($0.dropFirst(name.count + 1)) }
        }

        /// Sends the head of an event stream.
        func begin() async throws {
            try await send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        }

        /// Sends bytes unchanged.
        func send(_ text: String) async throws {
            try await writer.write(ByteBuffer(string: text))
        }

        /// Keeps the connection open until the client closes it, or the test ends.
        func hold() async {
            // The stream stays empty. Cancellation ends it.
            let (silence, continuation) = AsyncStream.makeStream(of: Void.self)
            for await _ in silence {}
            withExtendedLifetime(continuation) {}
        }
    }

    private let asked = Mutex<[String]>([])
    private let left = Mutex(0)

    /// The requests so far, oldest first.
    var requests: [String] { asked.withLock(\.self) }
    /// The number of connections closed by the client.
    var closedByClient: Int { left.withLock(\.self) }

    /// Serves while `body` runs.
    ///
    /// `answer` handles each connection, which closes when it returns.
    static func run(
        answer: @escaping @Sendable (Connection) async throws -> Void,
        _ body: (ScriptedGateway, Int) async throws -> Void
    ) async throws {
        let gateway = ScriptedGateway()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        let port = server.channel.localAddress?.port ?? 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { connections in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await connection in connections {
                            group.addTask { await gateway.serve(connection, answer) }
                        }
                    }
                }
            }
            try await body(gateway, port)
            group.cancelAll()
            // Cancelled, it may throw.
            try? await group.waitForAll()
        }
    }

    private func serve(
        _ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>,
        _ answer: @escaping @Sendable (Connection) async throws -> Void
    ) async {
        // A client may disconnect at any time and in any way.
        try? await channel.executeThenClose { inbound, outbound in
            var reader = inbound.makeAsyncIterator()
            guard let head = try await reader.next() else { return }
            let line = String(String(buffer: head).prefix { !$0.isNewline })
            asked.withLock { $0.append(line) }
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    try? await answer(Connection(request: line, writer: outbound))
                    channel.channel.close(promise: nil)
                }
                while let bytes = try? await reader.next(), bytes.readableBytes > 0 {}
                left.withLock { $0 += 1 }
                group.cancelAll()
            }
        }
    }
}
