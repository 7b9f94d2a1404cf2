import NIOCore
import NIOPosix

/// Listens on loopback, greets each connection with fixed bytes and says no more.
enum HostileServer {
    /// Runs `body` with the server's port.
    static func with<Result>(
        greeting: String,
        _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Greeter(greeting))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(server.localAddress?.port ?? 0)
            try await server.close()
            return result
        } catch {
            try await server.close()
            throw error
        }
    }

    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let greeting: String

        init(_ greeting: String) {
            self.greeting = greeting
        }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: greeting)), promise: nil)
        }
    }
}
