import NIOCore
import NIOPosix
import Synchronization

/// A server that answers requests with prepared replies in order, and records the requests.
///
/// A class, so that the server and the test share the requests. The last reply is repeated.
final class ScriptedServer: Sendable {
    /// A prepared reply.
    enum Reply: Sendable {
        /// Status, body and further header lines, each terminated by `\r\n`.
        case json(Int, String, headers: String = "")
        /// Raw bytes.
        case bytes(String, then: Ending)
        /// The connection is closed without a response.
        static let close = Reply.bytes("", then: .close)
    }

    /// The action after the bytes.
    enum Ending: Sendable {
        /// The connection stays open without more bytes.
        case silence
        /// The connection is closed.
        case close
        /// One byte every 20 ms, without end.
        case drip
        /// Blocks of 64 KiB, without end.
        case flood
    }

    private let replies: [Reply]
    private let received = Mutex<[String]>([])
    private let port = Mutex(0)

    private init(_ replies: [Reply]) {
        self.replies = replies
    }

    /// `http://127.0.0.1:PORT`.
    var address: String { "http://127.0.0.1:\(port.withLock { $0 })" }

    /// The requests so far, with head and body.
    var requests: [String] { received.withLock { $0 } }

    /// Runs a server during `body`.
    ///
    /// - Returns: The result of `body`.
    static func withRunning<Value: Sendable>(
        _ replies: Reply...,
        body: (ScriptedServer) async throws -> Value
    ) async throws -> Value {
        let server = ScriptedServer(replies)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.port.withLock { $0 = channel.localAddress?.port ?? 0 }
        let result = await Result(catching: { try await body(server) })
        try await channel.close()
        return try result.get()
    }

    private func reply(to request: String) -> Reply {
        let count = received.withLock { received in
            received.append(request)
            return received.count
        }
        return replies[min(count, replies.count) - 1]
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: ScriptedServer
        private var bytes = ""

        init(_ server: ScriptedServer) {
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += String(buffer: unwrapInboundIn(data))
            guard let head = bytes.firstRange(of: "\r\n\r\n") else { return }
            let announced = bytes[..<head.lowerBound].split(separator: "\r\n")
                .first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
            guard bytes[head.upperBound...].utf8.count >= announced ?? 0 else { return }
            defer { bytes = "" }
            switch server.reply(to: bytes) {
            case .bytes(let text, let ending):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                end(context, ending)
            case .json(let status, let body, let headers):
                let text =
                    "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\n\(headers)"
                    + (status == 304 ? "\r\n" : "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        private func end(_ context: ChannelHandlerContext, _ ending: Ending) {
            switch ending {
            case .silence: break
            case .close: context.close(promise: nil)
            case .drip: repeatedly(context, ByteBuffer(string: " "), every: .milliseconds(20))
            case .flood:
                repeatedly(context, ByteBuffer(repeating: 0x20, count: 1 << 16), every: .zero)
            }
        }

        private func repeatedly(
            _ context: ChannelHandlerContext,
            _ bytes: ByteBuffer,
            every pause: TimeAmount
        ) {
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(bytes)).whenSuccess {
                let (handler, context) = bound.value
                context.eventLoop.scheduleTask(in: pause) {
                    let (handler, context) = bound.value
                    handler.repeatedly(context, bytes, every: pause)
                }
                _ = handler
            }
        }
    }
}

extension Result where Failure == any Error {
    /// The result of an async call.
    fileprivate init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
