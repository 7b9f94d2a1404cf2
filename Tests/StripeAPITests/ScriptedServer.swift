import NIOCore
import NIOPosix
import Synchronization

/// A TCP server that answers every connection's first request with fixed bytes, whatever they are.
struct ScriptedServer {
    /// What follows the bytes.
    enum Ending: Sendable {
        /// The connection stays open without another byte.
        case silence
        /// The connection is closed.
        case close
        /// One byte every 20 ms, for ever.
        case drip
        /// 64 KiB again and again, for ever.
        case flood
    }

    /// The request a server got; a class, so that server and test share it.
    final class Heard: Sendable {
        let text = Mutex("")
    }

    /// `http://127.0.0.1:PORT`.
    let address: String

    /// Runs a server while `body` runs.
    ///
    /// - Returns: What the body returns.
    static func withRunning<Value: Sendable>(
        _ reply: String,
        then ending: Ending,
        hearing request: Heard? = nil,
        _ body: (ScriptedServer) async throws -> Value
    ) async throws -> Value {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(reply: reply, ending: ending, heard: request)
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = ScriptedServer(address: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
        do {
            let value = try await body(server)
            try await channel.close()
            return value
        } catch {
            try await channel.close()
            throw error
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let reply: String
        private let ending: Ending
        private let heard: Heard?
        private var request = ""
        private var hasReplied = false

        init(reply: String, ending: Ending, heard: Heard?) {
            self.reply = reply
            self.ending = ending
            self.heard = heard
        }

        /// Whether head and announced body are there; they may come in several reads.
        private var isComplete: Bool {
            guard let head = request.firstRange(of: "\r\n\r\n") else { return false }
            let announced = request[..<head.lowerBound].split(separator: "\r\n")
                .first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
            return request[head.upperBound...].utf8.count >= announced ?? 0
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            request += String(buffer: unwrapInboundIn(data))
            guard !hasReplied, isComplete else { return }
            hasReplied = true
            heard?.text.withLock { $0 = request }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply)), promise: nil)
            switch ending {
            case .silence: break
            case .close: context.close(promise: nil)
            case .drip: repeatedly(context, ByteBuffer(string: " "), every: .milliseconds(20))
            case .flood:
                repeatedly(context, ByteBuffer(repeating: 0x20, count: 1 << 16), every: .zero)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
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
