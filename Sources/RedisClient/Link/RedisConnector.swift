import NIOCore
import NIOPosix
import NIOSSL

/// Says which server a link connects to next; asked before every attempt.
protocol RedisLocator: Sendable {
    /// The server to connect to, on `eventLoop`; fails with what the operator should know.
    func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint>
}

/// Always the same server.
struct RedisFixedLocator: RedisLocator {
    let endpoint: RedisEndpoint

    func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint> {
        eventLoop.makeSucceededFuture(endpoint)
    }
}

/// Opens channels to the servers of one URL.
struct RedisConnector: Sendable {
    private let connectTimeout: Duration
    private let tls: NIOSSLContext?
    private let onConnect: @Sendable (SocketAddress) -> Void

    /// Reads certificates, if the URL asks for TLS; `onConnect` hears of every server reached.
    ///
    /// Throws what NIOSSL says about an unreadable or wrong file: a mistake in the configuration,
    /// which no retry would cure.
    init(
        url: RedisURL,
        configuration: RedisConfiguration,
        onConnect: @escaping @Sendable (SocketAddress) -> Void
    ) throws {
        self.connectTimeout = configuration.connectTimeout
        self.onConnect = onConnect
        guard url.isEncrypted else {
            self.tls = nil
            return
        }
        let files = url.tlsFiles
        var settings = TLSConfiguration.makeClientConfiguration()
        if let file = files.authorities ?? configuration.tls.trustRootsFile {
            settings.trustRoots = .file(file)
        } else if let file = configuration.tls.additionalRootsFile {
            settings.additionalTrustRoots = [.file(file)]
        }
        if !configuration.tls.verifiesServer { settings.certificateVerification = .none }
        if let file = files.certificate ?? configuration.tls.certificateChainFile {
            settings.certificateChain = try NIOSSLCertificate.fromPEMFile(file)
                .map { .certificate($0) }
        }
        if let file = files.key ?? configuration.tls.privateKeyFile {
            settings.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
        }
        do {
            self.tls = try NIOSSLContext(configuration: settings)
        } catch {
            // An image may have no certificates of its own: then those that were added are trusted alone.
            guard let file = configuration.tls.additionalRootsFile,
                !settings.additionalTrustRoots.isEmpty
            else { throw error }
            settings.additionalTrustRoots = []
            settings.trustRoots = .file(file)
            self.tls = try NIOSSLContext(configuration: settings)
        }
    }

    /// Connects on `eventLoop`; `handler` learns of success as its channel becomes active.
    func connect<Handler: ChannelInboundHandler>(
        to endpoint: RedisEndpoint,
        on eventLoop: any EventLoop,
        handler: NIOLoopBound<Handler>
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(connectTimeout))
            .channelOption(.writeBufferWaterMark, value: Self.waterMark)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls, case .tls(let host, _) = endpoint {
                        try pipeline.addHandler(tlsHandler(tls, host))
                    }
                    try pipeline.addHandler(handler.value)
                }
            }
        switch endpoint {
        case .tcp(let host, let port), .tls(let host, let port):
            return
                bootstrap
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                // Notices a peer that vanished while no command is sent.
                .channelOption(.socketOption(.so_keepalive), value: 1)
                .connect(host: host, port: port)
                .map { [onConnect] channel in
                    if let peer = channel.remoteAddress { onConnect(peer) }
                    return channel
                }
        case .unix(let path):
            return bootstrap.connect(unixDomainSocketPath: path)
        }
    }

    /// Commands beyond 1 MiB stay with us while a server does not read: what has not been handed to
    /// the socket can still be sent on the next connection.
    static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(
        low: 256 << 10,
        high: writeBytesMax
    )

    /// How much is written in one go.
    static let writeBytesMax = 1 << 20

    /// Names the server for SNI; an address is verified without, as SNI allows names only.
    private func tlsHandler(
        _ context: NIOSSLContext,
        _ host: String
    ) throws -> NIOSSLClientHandler {
        // An error only says that it is a name.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }
}

/// The end of a channel's pipeline: decodes replies and tells the link.
///
/// A class as NIO requires; confined to its event loop.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let decoder: RedisReplyDecoder
    /// `nil` once the link has given this connection up; nothing is reported then.
    private var link: RedisLink?
    /// `nil` until the socket is connected.
    private var channel: (any Channel)?

    init(link: RedisLink, limits: RedisReplyLimits) {
        self.link = link
        self.decoder = RedisReplyDecoder(limits: limits)
    }

    /// Whether the socket takes more bytes at once.
    var isWritable: Bool { channel?.isWritable == true }

    /// Writes and flushes.
    func write(_ buffer: ByteBuffer) {
        channel?.writeAndFlush(buffer, promise: nil)
    }

    /// Stops reporting and closes.
    func abandon() {
        link = nil
        channel?.close(promise: nil)
        channel = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        if let link {
            channel = context.channel
            link.connected(context.channel)
        } else {
            context.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard link != nil else { return }
        do throws(RedisCodecError) {
            try decoder.decode(unwrapInboundIn(data)) { link?.received($0) }
        } catch {
            link?.lost(.codec(error))
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { link?.writable() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        link?.lost(.closedByPeer)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        link?.lost(.network(error))
        context.close(promise: nil)
    }
}
