import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import PollerHTTP

#if canImport(Glibc)
import Glibc
#endif

/// A server on a free loopback port that sends exactly the bytes of a script, at the times of a
/// script.
final class ScriptedServer: Sendable {
    /// The next action of the server.
    enum Step: Sendable {
        case send(String)
        /// Sends the same bytes repeatedly until the connection ends.
        case flood(String)
        /// Sends one byte at a time at an interval, until the connection ends.
        case drip(String, everyMs: Int64)
        case pause(ms: Int64)
        /// Continues when the condition is true.
        case wait(@Sendable () -> Bool)
        /// Closes in order; over TLS with a close notification.
        case close
        /// Closes the socket without a TLS close notification.
        case cut
        /// Resets the connection.
        case reset
    }

    /// A received request: the number of its connection, and its number on that connection, both
    /// from 1.
    struct Request: Hashable, Sendable {
        let connection: Int
        let request: Int
        /// The head and body as received.
        let text: String
    }

    private struct State: Sendable {
        var connections = 0
        var received: [Request] = []
        var ended = 0
    }

    private let script: @Sendable (Request) -> [Step]
    private let onAccept: [Step]
    private let state = Mutex(State())
    private let channel = Mutex<(any Channel)?>(nil)

    private init(_ onAccept: [Step], _ script: @escaping @Sendable (Request) -> [Step]) {
        self.onAccept = onAccept
        self.script = script
    }

    /// Runs `body` with a server that performs the steps of `script` for each request.
    static func run(
        tls: NIOSSLContext? = nil,
        onAccept: [Step] = [],
        _ script: @escaping @Sendable (Request) -> [Step],
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        let server = ScriptedServer(onAccept, script)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(Handler(server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.channel.withLock { $0 = channel }
        do {
            try await body(server)
        } catch {
            try? await channel.close().get()
            throw error
        }
        try await channel.close().get()
    }

    /// Runs `body` with a server that performs the same steps for each request.
    static func run(
        _ steps: [Step],
        tls: NIOSSLContext? = nil,
        onAccept: [Step] = [],
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        try await run(tls: tls, onAccept: onAccept, { _ in steps }, body)
    }

    /// The port on which it listens.
    var port: Int { channel.withLock { $0?.localAddress?.port ?? 0 } }
    /// All requests so far.
    var requests: [Request] { state.withLock { $0.received } }
    /// The number of connections so far, and of those that have ended.
    var connections: Int { state.withLock { $0.connections } }
    var ended: Int { state.withLock { $0.ended } }

    fileprivate func accept() -> Int {
        state.withLock { state in
            state.connections += 1
            return state.connections
        }
    }

    fileprivate func take(_ request: Request) -> [Step] {
        state.withLock { $0.received.append(request) }
        return script(request)
    }

    fileprivate func end() { state.withLock { $0.ended += 1 } }

    /// Handles one connection; confined to its event loop.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: ScriptedServer
        private var number = 0
        private var requestCount = 0
        private var text = ""
        /// Bytes of a request's body that have not arrived yet.
        private var unread = 0

        init(_ server: ScriptedServer) {
            self.server = server
        }

        func channelActive(context: ChannelHandlerContext) {
            number = server.accept()
            run(server.onAccept[...], context)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            // The rest of a body, which is ignored.
            let skipped = min(unread, bytes.readableBytes)
            bytes.moveReaderIndex(forwardBy: skipped)
            unread -= skipped
            text += String(buffer: bytes)
            while let end = text.firstRange(of: "\r\n\r\n") {
                let length = text[..<end.lowerBound].lowercased().split(separator: "\r\n")
                    .first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).drop(while: \.isWhitespace)) }
                // The server does not wait for the body: one of the tests needs an early response.
                let body = text[end.upperBound...].prefix(length ?? 0)
                unread = (length ?? 0) - body.utf8.count
                requestCount += 1
                let whole = String(text[..<body.endIndex])
                text = String(text[body.endIndex...])
                let request = Request(connection: number, request: requestCount, text: whole)
                run(server.take(request)[...], context)
            }
        }

        func channelInactive(context: ChannelHandlerContext) { server.end() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        private func run(_ steps: ArraySlice<Step>, _ context: ChannelHandlerContext) {
            guard let step = steps.first, context.channel.isActive else { return }
            let rest = steps.dropFirst()
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            let loop = context.eventLoop
            @Sendable func later(_ ms: Int64, _ steps: ArraySlice<Step>) {
                loop.scheduleTask(in: .milliseconds(ms)) {
                    bound.value.0.run(steps, bound.value.1)
                }
            }
            switch step {
            case .send(let text):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                run(rest, context)
            case .flood(let text) where text.utf8.count < 16 << 10:
                // In large pieces: one event loop iteration per line would take too long.
                let many = String(repeating: text, count: (32 << 10) / text.utf8.count)
                run([.flood(many)], context)
            case .flood(let text):
                let written = context.eventLoop.makePromise(of: Void.self)
                written.futureResult.whenSuccess { later(0, steps) }
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: written)
            case .drip(let text, let everyMs):
                guard let first = text.first else { return run(rest, context) }
                context.writeAndFlush(
                    wrapOutboundOut(ByteBuffer(string: String(first))),
                    promise: nil
                )
                later(everyMs, [.drip(String(text.dropFirst()), everyMs: everyMs)] + rest)
            case .pause(let ms): later(ms, rest)
            case .wait(let isOver): if isOver() { run(rest, context) } else { later(5, steps) }
            case .close: context.close(promise: nil)
            case .cut:
                // Closes below TLS, so that no close notification is sent.
                let tls = try? context.pipeline.syncOperations.context(
                    handlerType: NIOSSLServerHandler.self
                )
                (tls ?? context).close(promise: nil)
            case .reset:
                let atOnce = linger(l_onoff: 1, l_linger: 0)
                _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(atOnce)
                context.close(promise: nil)
            }
        }
    }
}
