import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server on a free loopback port that sends the test's responses and records the requests.
final class StubServer: Sendable {
    /// A response.
    struct Answer: Sendable {
        var status = 200
        var headers: [(String, String)] = [("content-type", "application/json")]
        var body = "{}"
        /// The body instead of ``body``, for bytes that are not UTF-8.
        var bytes: [UInt8]?
        /// Whether the server never responds.
        var isSilent = false
    }

    private struct State: Sendable {
        var answer: @Sendable (HTTPRequestHead) -> Answer = { _ in Answer() }
        var requests: [HTTPRequestHead] = []
    }

    private let state = Mutex(State())
    private let channel = Mutex<(any Channel)?>(nil)

    /// Runs `body` with a listening server.
    static func run(_ body: @escaping @Sendable (StubServer) async throws -> Void) async throws {
        let server = StubServer()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(server: server))
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

    var port: Int { channel.withLock { $0?.localAddress?.port ?? 0 } }

    /// Sets the response to all further requests.
    func answer(_ answer: Answer) { self.answer(by: { _ in answer }) }

    /// Sets a function that creates the response to each further request.
    func answer(by answer: @escaping @Sendable (HTTPRequestHead) -> Answer) {
        state.withLock { $0.answer = answer }
    }

    /// Sets a response with status 200 and a JSON body.
    func answer(_ body: String) { answer(Answer(body: body)) }

    /// The requests so far.
    var requests: [HTTPRequestHead] { state.withLock { $0.requests } }

    fileprivate func take(_ head: HTTPRequestHead) -> Answer {
        state.withLock { state in
            state.requests.append(head)
            return state.answer(head)
        }
    }
}

private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: StubServer
    private var head: HTTPRequestHead?

    init(server: StubServer) {
        self.server = server
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head else { return }
            let answer = server.take(head)
            guard !answer.isSilent else { return }
            var headers = HTTPHeaders(answer.headers)
            let body = answer.bytes ?? Array(answer.body.utf8)
            headers.replaceOrAdd(name: "content-length", value: String(body.count))
            let response = HTTPResponseHead(
                version: .http1_1,
                status: HTTPResponseStatus(statusCode: answer.status),
                headers: headers
            )
            context.write(wrapOutboundOut(.head(response)), promise: nil)
            context.write(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))),
                promise: nil
            )
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}

/// The sandbox's control plane.
struct Control: Sendable {
    let base: String

    /// Sends a DELETE and returns the status.
    func delete(_ path: String) async throws -> Int {
        var request = HTTPClientRequest(url: base + path)
        request.method = .DELETE
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        return Int(response.status.code)
    }

    /// Posts JSON and returns the status.
    func post(_ path: String, json: String) async throws -> Int {
        var request = HTTPClientRequest(url: base + path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: json))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        return Int(response.status.code)
    }
}
