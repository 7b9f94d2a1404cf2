import NIOCore
import NIOPosix

/// A client for requests that no HTTP library sends.
enum RawConnection {
    /// Sends a head and then one chunk after the other.
    ///
    /// Returns whether the server closes in time.
    static func sendsUntilClosed(
        port: Int,
        head: String,
        chunk: String,
        within limit: Duration
    ) async throws -> Bool {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
        defer { channel.close(promise: nil) }
        try await channel.writeAndFlush(ByteBuffer(string: head))
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: limit)
        while clock.now < end {
            do {
                try await channel.writeAndFlush(ByteBuffer(string: chunk))
            } catch {
                return true
            }
        }
        return false
    }

    /// Sends bytes and returns the first response bytes.
    static func firstAnswer(port: Int, to bytes: String) async throws -> String {
        try await connect(port: port).executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: bytes))
            for try await buffer in inbound { return String(buffer: buffer) }
            return ""
        }
    }

    /// Sends bytes and returns the whole response until the server closes.
    static func everything(port: Int, to bytes: String) async throws -> String {
        try await connect(port: port).executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: bytes))
            var all = ByteBuffer()
            for try await buffer in inbound { all.writeImmutableBuffer(buffer) }
            return String(buffer: all)
        }
    }

    /// Opens idle connections, which the caller closes.
    static func open(port: Int, count: Int) async throws -> [any Channel] {
        var channels: [any Channel] = []
        for _ in 0..<count {
            channels.append(
                try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: port).get()
            )
        }
        return channels
    }

    private static func connect(
        port: Int
    ) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
    }
}
