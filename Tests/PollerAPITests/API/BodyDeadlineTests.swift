import NIOCore
import NIOEmbedded
import NIOHTTP1
import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("The time limit of a body")
struct BodyDeadlineTests {
    private static let head = HTTPServerRequestPart.head(
        HTTPRequestHead(version: .http1_1, method: .POST, uri: "/v1/watches")
    )

    @Test("a body that does not arrive in time ends with an error")
    func late() throws {
        let channel = EmbeddedChannel(handler: BodyDeadline(.seconds(30)))
        try channel.writeInbound(Self.head)
        channel.embeddedEventLoop.advanceTime(by: .seconds(20))
        try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "{")))
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        try channel.throwIfErrorCaught()
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(throws: BodyDeadline.Expired.self) { try channel.throwIfErrorCaught() }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a complete body has no limit, and the next one has its own")
    func complete() throws {
        let channel = EmbeddedChannel(handler: BodyDeadline(.seconds(30)))
        for _ in 0..<2 {
            try channel.writeInbound(Self.head)
            channel.embeddedEventLoop.advanceTime(by: .seconds(20))
            try channel.writeInbound(HTTPServerRequestPart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            try channel.throwIfErrorCaught()
        }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("the time of a pipelined body begins after the response to the request before it")
    func pipelined() throws {
        let channel = EmbeddedChannel(handler: BodyDeadline(.seconds(30)))
        try channel.writeInbound(Self.head)
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        try channel.writeInbound(Self.head)
        // The first request is a long poll.
        channel.embeddedEventLoop.advanceTime(by: .seconds(50))
        try channel.throwIfErrorCaught()
        try answer(channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        try channel.throwIfErrorCaught()
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(throws: BodyDeadline.Expired.self) { try channel.throwIfErrorCaught() }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("a response before the end of its body does not end the limit, nor start it again")
    func early() throws {
        let channel = EmbeddedChannel(handler: BodyDeadline(.seconds(30)))
        try channel.writeInbound(Self.head)
        channel.embeddedEventLoop.advanceTime(by: .seconds(20))
        try answer(channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(10))
        #expect(throws: BodyDeadline.Expired.self) { try channel.throwIfErrorCaught() }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("half a body gets 408 from a real server, and nothing is stored")
    func half() async throws {
        try await LiveAPI.run(bodyTimeout: .milliseconds(200)) { api in
            let body = #"{"source":"src_1"}"#
            let head = """
                POST /v1/watches HTTP/1.1\r
                Host: localhost\r
                Content-Type: application/json\r
                Content-Length: \(body.utf8.count)\r
                \r

                """
            let half = body.prefix(body.count / 2)
            let answer = try await RawConnection.everything(port: api.port, to: head + half)
            #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
            #expect(answer.contains(#""code":"body_too_slow""#), "\(answer)")
            #expect(try await api.store.snapshot(of: WatchKey("src_1")) == nil)
        }
    }

    /// Sends the response to the oldest request.
    private func answer(_ channel: EmbeddedChannel) throws {
        let head = HTTPResponseHead(version: .http1_1, status: .ok)
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }
}
