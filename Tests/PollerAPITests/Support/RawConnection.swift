import NIOCore
import NIOPosix

/// A client that does what no HTTP library does.
enum RawConnection {
    /// Sends a head and then one chunk after the other; true when the server closes in time.
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

    /// Sends some bytes and gives the first that come back.
    static func firstAnswer(port: Int, to bytes: String) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: bytes))
            for try await buffer in inbound { return String(buffer: buffer) }
            return ""
        }
    }
}
