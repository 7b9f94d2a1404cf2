import NIOCore
import NIOPosix
import NIOSSL

/// Selects the server that a link connects to.
///
/// Called before every attempt.
protocol RedisLocator: Sendable {
    /// Returns the server to connect to, on `eventLoop`. Fails with an error meant for the
    /// operator.
    func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint>
}

/// A locator that always returns the same server.
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

    /// Loads the certificates if the URL uses TLS.
    ///
    /// `onConnect` is called for every server reached.
    ///
    /// Throws NIOSSL's error for an unreadable or invalid file. That is a configuration error,
    /// which a retry would not fix.
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
            // A container image may have no system certificates. Then only the added ones are
            // trusted.
            guard let file = configuration.tls.additionalRootsFile,
                !settings.additionalTrustRoots.isEmpty
            else { throw error }
            settings.additionalTrustRoots = []
            settings.trustRoots = .file(file)
            self.tls = try NIOSSLContext(configuration: settings)
        }
    }

    /// Connects on `eventLoop`.
    ///
    /// `handler` is notified of success when its channel becomes active.
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
                // Detects a vanished peer while no command is in flight.
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

    /// Limits on bytes handed to a socket.
    ///
    /// While a server does not read, commands beyond 1 MiB stay in this process and can still be
    /// sent on the next connection.
    static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(
        low: 256 << 10,
        high: writeBytesMax
    )

    /// The most bytes written at once.
    static let writeBytesMax = 1 << 20

    /// Sets the host name for SNI.
    ///
    /// For an IP address it is omitted, because SNI allows names only; the address is still
    /// verified.
    private func tlsHandler(
        _ context: NIOSSLContext,
        _ host: String
    ) throws -> NIOSSLClientHandler {
        // An error means that the host is a name.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }
}

/// The last handler of a channel: decodes replies and forwards them to the link.
///
/// A class, as NIO requires; confined to its event loop.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let decoder: RedisReplyDecoder
    /// The link to report to; `nil` after ``abandon()``.
    private var link: RedisLink?
    /// `nil` until the socket is connected.
    private var channel: (any Channel)?

    init(link: RedisLink, limits: RedisReplyLimits) {
        self.link = link
        self.decoder = RedisReplyDecoder(limits: limits)
    }

    /// Whether the socket accepts more bytes now.
    var isWritable: Bool { channel?.isWritable == true }

    /// Writes and flushes.
    func write(_ buffer: ByteBuffer) {
        channel?.writeAndFlush(buffer, promise: nil)
    }

    /// Stops reporting to the link and closes the channel.
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
