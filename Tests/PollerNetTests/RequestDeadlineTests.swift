import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import PollerHTTP
import PollerNet
import Testing

@Suite("RequestDeadline")
struct RequestDeadlineTests {
    private let loop = EmbeddedEventLoop()
    private let limits = RequestDeadline.Limits()

    /// A server's channel with a decoder and the deadline handlers.
    private func channel(_ arrival: SlotCounter.Slot = .uncounted) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: loop)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(RequestDeadline(arrival: arrival))
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
        try pipeline.addHandler(RequestDeadline.RequestObserver())
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        return channel
    }

    private func send(_ text: String, to channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    private func answer(on channel: EmbeddedChannel) throws {
        let head = HTTPResponseHead(version: .http1_1, status: .noContent)
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }

    @Test("a connection that sends nothing is closed")
    func silence() throws {
        let channel = try channel()
        loop.advanceTime(by: limits.head - .seconds(1))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test("a head that arrives byte by byte does not extend the deadline")
    func slowHead() throws {
        let channel = try channel()
        for byte in "GET / HTTP/1.1\r" {
            try send(String(byte), to: channel)
            loop.advanceTime(by: .seconds(1))
        }
        #expect(!channel.isActive)
    }

    @Test("a complete head ends the deadline, and the next slow head has another one")
    func nextHead() throws {
        let channel = try channel()
        try send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", to: channel)
        loop.advanceTime(by: limits.head * 3)
        #expect(channel.isActive)
        try answer(on: channel)
        loop.advanceTime(by: limits.head * 3)
        #expect(channel.isActive)
        try send("GET", to: channel)
        loop.advanceTime(by: limits.head)
        #expect(!channel.isActive)
    }

    @Test(
        "a response that the client does not read closes the connection; one that it reads does not"
    )
    func stall() throws {
        let channel = try channel()
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        loop.advanceTime(by: limits.head - .seconds(1))
        try send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", to: channel)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        loop.advanceTime(by: limits.stall * 2)
        #expect(channel.isActive)
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        loop.advanceTime(by: limits.stall)
        #expect(!channel.isActive)
    }

    @Test("the first head releases the slot among the connections without a request")
    func place() throws {
        let gate = ConnectionGate(
            listener: "test",
            connectionsMax: 4,
            bound: .half,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        /// A connection from this machine, which the limit of all connections does not count.
        func connect() throws -> EmbeddedChannel {
            let channel = EmbeddedChannel(loop: loop)
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
            try channel.connect(to: address).wait()
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(RequestDeadline(arrival: gate.admit(channel)))
            try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
            try pipeline.addHandler(RequestDeadline.RequestObserver())
            loop.run()
            return channel
        }
        let silent = [try connect(), try connect()]
        let busy = try connect()
        #expect(silent.map(\.isActive) == [true, true])
        #expect(!busy.isActive, "half of four connections are without a request")
        try send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", to: silent[0])
        let next = try connect()
        #expect(next.isActive)
        loop.advanceTime(by: limits.head)
        #expect([silent[0], silent[1], next].map(\.isActive) == [true, false, false])
        #expect(try connect().isActive)
    }
}
