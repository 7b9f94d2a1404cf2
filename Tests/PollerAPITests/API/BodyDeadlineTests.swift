import NIOCore
import NIOEmbedded
import NIOHTTP1
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
}
