import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A receiver of webhooks in this process: it answers 200 at once, or under `/hang` never.
///
/// A class, because its connections share what it counts.
final class WebhookSink: Sendable {
    /// Told the id of each event as its request comes in, and the path it came to.
    typealias Receipt = @Sendable (_ id: String, _ path: String) -> Void

    private let receipt: Mutex<Receipt>
    private let listener = Mutex<(any Channel)?>(nil)

    init() {
        receipt = Mutex { _, _ in }
    }

    /// Changes who is told from now on.
    func onReceipt(_ receipt: @escaping Receipt) {
        self.receipt.withLock { $0 = receipt }
    }

    /// Listens on a free loopback port; the port.
    func start() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answering(sink: self))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        listener.withLock { $0 = channel }
        guard let port = channel.localAddress?.port else {
            throw BenchError("no port to listen on")
        }
        return port
    }

    /// Stops listening.
    func stop() {
        listener.withLock { $0 }?.close(promise: nil)
    }

    fileprivate func received(_ id: String, _ path: String) {
        receipt.withLock { $0 }(id, path)
    }
}

/// Answers the requests of one connection.
private final class Answering: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let sink: WebhookSink
    private var hangs = false

    init(sink: WebhookSink) {
        self.sink = sink
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            hangs = head.uri.hasPrefix("/hang")
            sink.received(head.headers.first(name: "webhook-id") ?? "", head.uri)
        case .body: break
        case .end where hangs: break
        case .end:
            let head = HTTPResponseHead(
                version: .http1_1,
                status: .ok,
                headers: ["content-length": "0"]
            )
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
