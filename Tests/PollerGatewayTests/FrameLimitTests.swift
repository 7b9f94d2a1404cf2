import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import PollerGateway

@Suite("The frame limit of a client")
struct FrameLimitTests {
    private static let limits = GatewayLimits()

    @Test("frames over the limit per second are rejected until the next second")
    func perSecond() {
        var count = FrameCount(limits: Self.limits)
        count.isAuthenticated = true
        for _ in 0..<Self.limits.framesPerSecond { #expect(count.recordFrame(at: .zero) == nil) }
        #expect(count.recordFrame(at: .milliseconds(999)) != nil)
        #expect(count.recordFrame(at: .seconds(1)) == nil)
    }

    @Test("before authentication, the total number of frames is limited")
    func beforeAuth() {
        var count = FrameCount(limits: Self.limits)
        for second in 0..<Self.limits.framesBeforeAuth {
            #expect(count.recordFrame(at: .seconds(second)) == nil)
        }
        #expect(count.recordFrame(at: .seconds(3600)) != nil)
        count.isAuthenticated = true
        #expect(count.recordFrame(at: .seconds(3600)) == nil)
    }

    @Test(
        "a frame of any type over the limit closes with `rateLimited`, and later frames are dropped",
        arguments: [WebSocketOpcode.ping, .pong, .text, .continuation]
    )
    func closes(opcode: WebSocketOpcode) throws {
        let channel = EmbeddedChannel()
        let frameCount = SharedFrameCount(limits: Self.limits)
        frameCount.count.isAuthenticated = true
        try WebSocketPipeline.add(
            to: channel,
            messageBytesMax: Self.limits.frameBytesMax,
            // The fragments of one message have a separate limit.
            fragmentsMax: 1000,
            frameCount: frameCount
        )
        if opcode == .continuation {
            try send(channel, WebSocketFrame(fin: false, opcode: .text, data: ByteBuffer()))
        }
        let most = Self.limits.framesPerSecond - (opcode == .continuation ? 1 : 0)
        for _ in 0..<most {
            let isFragment = opcode == .continuation
            try send(channel, WebSocketFrame(fin: !isFragment, opcode: opcode, data: ByteBuffer()))
        }
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        var passed = 0
        while try channel.readInbound(as: WebSocketFrame.self) != nil { passed += 1 }
        for _ in 0..<50 {
            try? send(channel, WebSocketFrame(fin: true, opcode: opcode, data: ByteBuffer()))
        }
        let close = try #require(try channel.readOutbound(as: WebSocketFrame.self))
        var data = close.unmaskedData
        #expect(close.opcode == .connectionClose)
        #expect(data.readInteger(as: UInt16.self).map(Int.init) == CloseCode.rateLimited.rawValue)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        #expect(try channel.readInbound(as: WebSocketFrame.self) == nil, "\(passed) before")
    }

    @Test("after an invalid frame no other one is answered, even if the socket takes no data yet")
    func once() throws {
        let channel = EmbeddedChannel()
        let socket = FullSocket()
        try channel.pipeline.syncOperations.addHandler(socket)
        try WebSocketPipeline.add(to: channel, messageBytesMax: Self.limits.frameBytesMax)
        // Continuations of no message, and then a close frame.
        for opcode in [WebSocketOpcode.continuation, .continuation, .connectionClose] {
            try? send(channel, WebSocketFrame(fin: true, opcode: opcode, data: ByteBuffer()))
        }
        #expect(try channel.readInbound(as: WebSocketFrame.self) == nil)
        socket.isFull = false
        channel.flush()
        let close = try #require(try channel.readOutbound(as: WebSocketFrame.self))
        #expect(close.opcode == .connectionClose)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil, "two close frames")
    }

    @Test("after the session's own close frame, an invalid frame causes no second one")
    func afterClose() throws {
        let channel = EmbeddedChannel()
        try WebSocketPipeline.add(to: channel, messageBytesMax: Self.limits.frameBytesMax)
        let close = OutboundFrame.close(.rateLimited, reason: "").webSocket(channel.allocator)
        try channel.writeOutbound(close)
        try? send(channel, WebSocketFrame(fin: true, opcode: .continuation, data: ByteBuffer()))
        #expect(try channel.readOutbound(as: WebSocketFrame.self)?.opcode == .connectionClose)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil, "two close frames")
    }

    @Test("after an invalid frame, TLS does not delay the end of the socket")
    func drainBelowTLS() throws {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        try channel.pipeline.syncOperations.addHandler(WaitingTLS())
        try WebSocketPipeline.add(to: channel, messageBytesMax: Self.limits.frameBytesMax)
        try? send(channel, WebSocketFrame(fin: true, opcode: .continuation, data: ByteBuffer()))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(3))
        #expect(!channel.isActive)
    }

    private func send(_ channel: EmbeddedChannel, _ frame: WebSocketFrame) throws {
        let masked = WebSocketFrame(
            fin: frame.fin,
            opcode: frame.opcode,
            maskKey: [1, 2, 3, 4],
            data: frame.data
        )
        try channel.writeInbound(masked)
    }
}

/// A socket that takes no data while it is full.
private final class FullSocket: ChannelOutboundHandler {
    typealias OutboundIn = WebSocketFrame

    var isFull = true

    func flush(context: ChannelHandlerContext) {
        if !isFull { context.flush() }
    }
}

/// TLS with a peer that does not answer the close.
private final class WaitingTLS: ChannelOutboundHandler {
    typealias OutboundIn = WebSocketFrame

    func close(
        context: ChannelHandlerContext,
        mode: CloseMode,
        promise: EventLoopPromise<Void>?
    ) {}
}
