import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import ServiceLifecycle

@testable import PollerGateway

/// The gateway's WebSocket stack with an echo in place of the protocol, for a conformance suite.
///
/// It uses the gateway's handlers and frame parser.
struct EchoServer: ServerChildChannel {
    /// A connection before its handshake.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let socket: EventLoopFuture<NIOAsyncChannel<WebSocketFrame, WebSocketFrame>?>
    }

    /// The largest message of the suite's limit cases.
    private static let messageBytesMax = 1 << 24
    /// The suite sends that message in fragments of 64 bytes.
    private static let fragmentsMax = 1 << 19

    /// Serves on a free port while `body` runs.
    static func run(_ body: @Sendable (Int) async throws -> Void) async throws {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "echo") { _ in SwiftLogNoOpLogHandler() }
        let server = Server(
            childChannelSetup: EchoServer(),
            configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        let group = ServiceGroup(services: [server], logger: logger)
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        let port = await iterator.next() ?? 0
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(port))
        } catch {
            result = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await running
        try result.get()
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let upgrader = NIOTypedWebSocketServerUpgrader(
                maxFrameSize: Self.messageBytesMax,
                enableAutomaticErrorHandling: false,
                shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
                upgradePipelineHandler: { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        try WebSocketPipeline.add(
                            to: channel,
                            messageBytesMax: Self.messageBytesMax,
                            fragmentsMax: Self.fragmentsMax
                        )
                        return try NIOAsyncChannel<WebSocketFrame, WebSocketFrame>?(
                            NIOAsyncChannel(wrappingChannelSynchronously: channel)
                        )
                    }
                }
            )
            let configuration = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in
                        channel.close().map { nil }
                    }
                )
            )
            return Value(
                channel: channel,
                socket: try channel.pipeline.syncOperations
                    .configureUpgradableHTTPServerPipeline(configuration: configuration)
            )
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            try await value.socket.get()?.executeThenClose { inbound, outbound in
                for try await received in inbound {
                    switch ClientFrame(received) {
                    case .text(let text):
                        let data = ByteBuffer(string: text)
                        try await outbound.write(frame(.text, data))
                    case .binary(let data): try await outbound.write(frame(.binary, data))
                    case .ping(let data): try await outbound.write(frame(.pong, data))
                    case .pong: continue
                    case .close(let data):
                        try await value.channel.writeAndFlush(frame(.connectionClose, data))
                        return
                    case .violation(let code, _):
                        var data = ByteBuffer()
                        data.write(
                            webSocketErrorCode: WebSocketErrorCode(codeNumber: code.rawValue)
                        )
                        try await value.channel.writeAndFlush(frame(.connectionClose, data))
                        return
                    }
                }
            }
        } catch {
            // The suite breaks connections on purpose.
            value.channel.close(promise: nil)
        }
    }

    private func frame(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, data: data)
    }
}
