import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import PollerNet
import Testing

@testable import PollerGateway

@Suite("Opening handshakes")
struct HandshakeTests {
    private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    private static let version = "Sec-WebSocket-Version: 13"
    private static let upgrade = "Upgrade: websocket"
    private static let connection = "Connection: Upgrade"
    private static let `protocol` = "Sec-WebSocket-Protocol: poller.v1.json"
    private static let host = "Host: localhost"
    private static let complete = [host, upgrade, connection, key, version, `protocol`]

    /// Sends a request and returns everything received until the server closes the connection.
    private static func answer(
        _ port: Int,
        _ lines: [String],
        line: String = "GET /v1/stream HTTP/1.1"
    ) async throws -> String {
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        return try await connection.executeThenClose { inbound, outbound in
            let text = ([line] + lines).map { "\($0)\r\n" }.joined() + "\r\n"
            try await outbound.write(ByteBuffer(string: text))
            var all = ""
            for try await buffer in inbound {
                all += String(buffer: buffer)
                // An open WebSocket stays open.
                if all.hasPrefix("HTTP/1.1 101 ") { return all }
            }
            return all
        }
    }

    /// A change to a complete handshake, and the expected status.
    struct Odd: Sendable, CustomTestStringConvertible {
        let name: String
        var without: [String] = []
        var with: [String] = []
        var line = "GET /v1/stream HTTP/1.1"
        let status: Int

        var testDescription: String { name }
    }

    @Test(
        "an invalid handshake is answered with its error status and closed at once",
        arguments: [
            Odd(name: "another protocol", without: [upgrade], with: ["Upgrade: foo"], status: 426),
            Odd(name: "h2c", without: [upgrade], with: ["Upgrade: h2c"], status: 426),
            Odd(name: "no protocol", without: [upgrade], status: 426),
            Odd(name: "no key", without: [key], status: 400),
            Odd(name: "two keys", with: [key], status: 400),
            Odd(
                name: "a short key",
                without: [key],
                with: ["Sec-WebSocket-Key: YQ=="],
                status: 400
            ),
            Odd(name: "no version", without: [version], status: 426),
            Odd(
                name: "version 99",
                without: [version],
                with: ["Sec-WebSocket-Version: 99"],
                status: 426
            ),
            Odd(name: "no connection", without: [connection], status: 400),
            Odd(name: "a body", with: ["Content-Length: 5"], status: 400),
            Odd(name: "a chunked body", with: ["Transfer-Encoding: chunked"], status: 400),
            Odd(name: "HTTP/1.0", line: "GET /v1/stream HTTP/1.0", status: 426),
            Odd(name: "HEAD", line: "HEAD /v1/stream HTTP/1.1", status: 400),
            Odd(name: "another path", line: "GET /nowhere HTTP/1.1", status: 404),
            Odd(name: "another method", line: "POST /v1/stream HTTP/1.1", status: 405),
            Odd(name: "another subprotocol", without: [`protocol`], status: 400),
            Odd(name: "no host", without: [host], status: 400),
            Odd(name: "two hosts", with: ["Host: evil.example"], status: 400),
            Odd(name: "another origin", with: ["Origin: http://evil.example"], status: 403),
            Odd(name: "no HTTP", line: "GET", status: 400),
        ]
    )
    func odd(_ odd: Odd) async throws {
        try await LiveBench.run { bench in
            let lines = Self.complete.filter { !odd.without.contains($0) } + odd.with
            let answer = try await Self.answer(bench.port, lines, line: odd.line)
            #expect(answer.hasPrefix("HTTP/1.1 \(odd.status) "), "\(answer)")
            let text = answer.lowercased()
            if odd.status == 426 {
                #expect(text.contains("\r\nupgrade: websocket\r\n"))
                #expect(text.contains("\r\nsec-websocket-version: 13\r\n"))
            }
            #expect(
                text.contains("\r\nconnection: \(odd.status == 426 ? "upgrade, " : "")close\r\n")
            )
        }
    }

    @Test("a complete handshake opens a WebSocket, however its headers are spelled")
    func complete() async throws {
        try await LiveBench.run { bench in
            for (old, new) in [
                ("", ""), (Self.upgrade, "upgrade: WebSocket"),
                (Self.connection, "Connection: keep-alive, Upgrade"),
                (Self.upgrade, "Upgrade: h2c, websocket"),
            ] {
                let lines = Self.complete.map { $0 == old ? new : $0 }
                let answer = try await Self.answer(bench.port, lines)
                #expect(answer.hasPrefix("HTTP/1.1 101 "), "\(new) \(answer)")
            }
        }
    }

    @Test("HEAD is answered like GET without a body, and HTTP/1.0 without chunks")
    func oldAndHead() async throws {
        try await LiveBench.run { bench in
            let key = "Authorization: Bearer key-all"
            for (line, lines) in [
                ("/nowhere", []), ("/v1/stream", []), ("/v1/events/stream", []),
                ("/v1/events/stream", [key]), ("/v1/sources/src_1/events?types=nonsense", []),
            ] {
                let head = try await Self.answer(
                    bench.port,
                    [Self.host] + lines,
                    line: "HEAD \(line) HTTP/1.1"
                )
                #expect(head.hasPrefix("HTTP/1.1 ") && head.hasSuffix("\r\n\r\n"), "\(head)")
                #expect(head.components(separatedBy: "\r\n\r\n").count == 2, "\(head)")
                guard lines.isEmpty else { continue }
                let get = try await Self.answer(
                    bench.port,
                    [Self.host],
                    line: "GET \(line) HTTP/1.1"
                )
                #expect(get.prefix(12) == head.prefix(12), "\(line)")
                let old = try await Self.answer(
                    bench.port,
                    [Self.host],
                    line: "GET \(line) HTTP/1.0"
                )
                #expect(old.prefix(12) == get.prefix(12), "\(old)")
                #expect(!old.lowercased().contains("transfer-encoding"), "\(old)")
            }
        }
    }

    @Test("an upgrade offer for another protocol does not change the response to a plain request")
    func ignored() async throws {
        try await LiveBench.run { bench in
            let answer = try await Self.answer(
                bench.port,
                [Self.host, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"],
                line: "GET /v1/events/stream?types=nonsense HTTP/1.1"
            )
            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
        }
    }

    @Test(
        "the gateway's own address is an allowed origin for each transport",
        arguments: [
            ("localhost:8081", "http://localhost:8081", true),
            ("gw.example", "https://gw.example", true),
            ("localhost:8081", "http://localhost:3000", false),
            ("localhost:8081", "null", false), ("gw.example", "https://evil.example", false),
        ]
    )
    func origins(host: String, origin: String, isAllowed: Bool) async throws {
        try await LiveBench.run { bench in
            let lines =
                Self.complete.filter { $0 != Self.host } + ["Host: \(host)", "Origin: \(origin)"]
            let socket = try await Self.answer(bench.port, lines)
            #expect(socket.hasPrefix("HTTP/1.1 \(isAllowed ? 101 : 403) "), "\(socket)")
            #expect(isAllowed || socket.contains("POLLER_ALLOW_ORIGINS"))
            let stream = try await Self.answer(
                bench.port,
                ["Host: \(host)", "Origin: \(origin)"],
                line: "GET /v1/events/stream HTTP/1.1"
            )
            #expect(stream.hasPrefix("HTTP/1.1 \(isAllowed ? 401 : 403) "), "\(stream)")
        }
    }

    @Test("without keys, a page with a rebound DNS name is rejected although its origin matches")
    func rebinding() async throws {
        try await LiveBench.run(authenticator: OpenAuthenticator()) { bench in
            let page = ["Host: evil.example:8081", "Origin: http://evil.example:8081"]
            let stream = try await Self.answer(
                bench.port,
                page,
                line: "GET /v1/events/stream HTTP/1.1"
            )
            #expect(stream.hasPrefix("HTTP/1.1 403 "), "\(stream)")
            #expect(stream.contains("not_local"))
        }
    }

    @Test("a connection is closed when its request or its response exceeds the time limit")
    func deadlines() throws {
        let loop = EmbeddedEventLoop()
        func connect() throws -> (EmbeddedChannel, PendingConnection) {
            let channel = EmbeddedChannel(loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
            return (channel, PendingConnection(channel, .uncounted))
        }
        let (silent, _) = try connect()
        let (slow, slowArrival) = try connect()
        let (stream, streamArrival) = try connect()
        let (broken, brokenArrival) = try connect()
        for (channel, pendingConnection) in [(slow, slowArrival), (broken, brokenArrival)] {
            let handler = HandshakeHandler(pendingConnection) { _ in nil }
            try channel.pipeline.syncOperations.addHandler(handler)
        }
        loop.advanceTime(by: PendingConnection.requestMax - .seconds(1))
        streamArrival.end()
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/v1/events/stream")
        try slow.writeInbound(HTTPServerRequestPart.head(head))
        broken.pipeline.fireErrorCaught(HTTPParserError.invalidMethod)
        loop.advanceTime(by: .seconds(1))
        #expect(
            [silent, slow, stream, broken].map(\.isActive) == [false, true, true, false]
        )
        loop.advanceTime(by: PendingConnection.answerMax)
        #expect([slow, stream].map(\.isActive) == [false, true])
    }
}
