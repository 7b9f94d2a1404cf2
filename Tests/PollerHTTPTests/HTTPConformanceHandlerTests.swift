import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import PollerHTTP

@Suite("HTTPConformanceHandler")
struct HTTPConformanceHandlerTests {
    /// The last handler of a server's pipeline: records the heads it receives.
    private final class Application: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private(set) var heads: [HTTPRequestHead] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head(let head) = unwrapInboundIn(data) { heads.append(head) }
        }
    }

    private let channel = EmbeddedChannel()
    private let application = Application()

    init() throws {
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withErrorHandling: false
        )
        try HTTPConformanceHandler.add(to: channel, bodyBytesMax: 1000)
        try channel.pipeline.syncOperations.addHandler(application)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
    }

    /// Returns the bytes sent to the client since the last call.
    private func sent() throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: IOData.self) {
            if case .byteBuffer(let buffer) = bytes { text += String(buffer: buffer) }
        }
        return text
    }

    private func send(_ lines: String..., body: String = "") throws {
        let text = lines.map { "\($0)\r\n" }.joined() + "\r\n" + body
        try channel.writeInbound(ByteBuffer(string: text))
    }

    private func answer(_ body: String, _ headers: HTTPHeaders = [:]) throws {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        try channel.writeOutbound(
            HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: body)))
        )
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }

    @Test("HEAD gets the headers of GET and no body, with and without a length")
    func head() throws {
        for headers: HTTPHeaders in [["content-length": "2"], [:]] {
            try send("GET / HTTP/1.1", "Host: a")
            try answer("ok", headers)
            let got = try sent()
            try send("HEAD / HTTP/1.1", "Host: a")
            #expect(application.heads.last?.method == .GET)
            try answer("ok", headers)
            let end = try #require(got.firstRange(of: "\r\n\r\n"))
            #expect(try sent() == got[..<end.upperBound])
        }
    }

    @Test("HTTP/1.0 gets no chunks, and the connection closes after the response")
    func old() throws {
        try send("GET / HTTP/1.0", "Connection: keep-alive")
        #expect(application.heads.last?.headers["connection"] == ["close"])
        try answer("ok")
        #expect(try sent() == "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\nok")
        try send("HEAD / HTTP/1.0")
        try answer("ok", ["content-length": "2"])
        #expect(
            try sent() == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n"
        )
    }

    @Test("a client that waits for 100 Continue gets it at once, and only once")
    func expected() throws {
        let line = "HTTP/1.1 100 Continue\r\n\r\n"
        try send("POST / HTTP/1.1", "Host: a", "Expect: 100-Continue", "Content-Length: 4")
        #expect(try sent() == line)
        try channel.writeInbound(ByteBuffer(string: "body"))
        #expect(try sent().isEmpty)
        try answer("ok", ["content-length": "2"])
        #expect(try sent().hasSuffix("\r\n\r\nok"))
        try send("POST / HTTP/1.1", "Host: a", "Expect: 100-continue", "Transfer-Encoding: chunked")
        #expect(try sent() == line)
    }

    @Test(
        "without a wait, in HTTP/1.0, or with too long a body, there is no 100 Continue",
        arguments: [
            ["POST / HTTP/1.1", "Content-Length: 4"],
            ["POST / HTTP/1.0", "Expect: 100-continue", "Content-Length: 4"],
            ["POST / HTTP/1.1", "Expect: 100-continue", "Content-Length: 1001"],
            ["POST / HTTP/1.1", "Expect: 100-continue", "Content-Length: 99999999999999999999"],
            ["GET / HTTP/1.1", "Expect: 100-continue"],
            ["GET / HTTP/1.1", "Expect: 100-continue", "Content-Length: 0"],
        ]
    )
    func unexpected(lines: [String]) throws {
        let text = (lines + ["Host: a"]).map { "\($0)\r\n" }.joined() + "\r\n"
        // The decoder rejects some of it.
        _ = try? channel.writeInbound(ByteBuffer(string: text))
        #expect(try sent().isEmpty)
    }

    @Test("with pipelined requests, 100 Continue follows the earlier responses")
    func pipelined() throws {
        try send("GET / HTTP/1.1", "Host: a")
        try send("PUT / HTTP/1.1", "Host: a", "Expect: 100-continue", "Content-Length: 4")
        #expect(application.heads.count == 2)
        #expect(try sent().isEmpty, "the first response comes first")
        try answer("ok", ["content-length": "2"])
        let text = try sent()
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.hasSuffix("\r\n\r\nokHTTP/1.1 100 Continue\r\n\r\n"))
    }
}
