import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import PollerHTTP
import PollerIdentity
import PollerNet
import PollerOperations
import PollerWatches

/// Runs a router on an HTTP/1.1 server with limits.
///
/// The API and the admin listener both use it.
///
/// Each limit applies where the cost arises. Connections per address are limited before any byte is parsed
/// (``ConnectionGate``). The size of headers is limited in the decoder, before they are stored. The time until a
/// request is complete and its response is read is limited (``RequestDeadline``), and so is the time between two
/// requests (the idle timeout). A request names one host (``HostCheck``) and gets what HTTP promises
/// (``HTTPConformanceHandler``). The route limits the size and time of a body (``BodyReader``).
struct HTTPService {
    /// The maximum connections.
    ///
    /// Each costs a file descriptor and about 30 KiB, and 10,000 fit common limits.
    private static let connectionsMax = 10_000
    private static let headerBytesMax = 16_384
    private static let headersMax = 64
    /// Longer than the longest long poll, to avoid a race with a proxy or client.
    private static let idleTimeout = TimeAmount.seconds(75)

    /// The listener's name: `api` listens at the address of `--api-bind`.
    let name: String
    let bind: ListenAddress
    let addresses: PerAddressLimit
    /// The TLS configuration; `nil` for plain HTTP.
    let tls: ListenerTLS?
    /// The path under which a proxy publishes the listener.
    var publication = Publication.atRoot
    /// The time for a request's body.
    var bodyTimeout = BodyReader.timeout
    /// Returns the executor of a connection's event loop; `nil` runs connections in Swift's own pool.
    var executor: @Sendable (any EventLoop) -> (any TaskExecutor)? = { _ in nil }
    let logger: Logger
    let onBound: @Sendable (ListenAddress) -> Void

    func run(_ router: Router<APIContext>) async throws {
        let gate = ConnectionGate(
            listener: name,
            connectionsMax: Self.connectionsMax,
            bound: addresses,
            logger: logger
        )
        let configuration = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestDeadline.RequestObserver()],
            idleTimeout: Self.idleTimeout,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: Self.headerBytesMax,
                maxHeaderListSize: Self.headerBytesMax,
                maxHeaderFieldCount: Self.headersMax
            )
        )
        let application = Application(
            responder: BasePathResponder(
                inner: router.buildResponder(),
                publication: publication
            ),
            server: HTTPServerBuilder { [tls, bodyTimeout, executor] responder in
                GatedChannel(
                    gate: gate,
                    tls: tls,
                    bodyTimeout: bodyTimeout,
                    inner: HTTP1Channel(responder: responder, configuration: configuration),
                    executor: executor
                )
            },
            configuration: ApplicationConfiguration(
                address: .hostname(bind.host, port: bind.port),
                availableConnectionsDelegate: .maximum(Self.connectionsMax, logger: logger)
            ),
            onServerRunning: { [bind, onBound] channel in
                let port = channel.localAddress?.port ?? bind.port
                onBound(ListenAddress(host: bind.host, port: port))
            },
            logger: logger
        )
        do {
            try await application.run()
        } catch {
            throw ListenError(error, at: bind, option: "\(name)-bind") ?? error
        }
    }

    /// A connection that passes the connection gate.
    private struct GatedChannel: ServerChildChannel {
        let gate: ConnectionGate
        let tls: ListenerTLS?
        let bodyTimeout: Duration
        let inner: HTTP1Channel
        let executor: @Sendable (any EventLoop) -> (any TaskExecutor)?

        func setup(
            channel: any Channel,
            logger: Logger
        ) -> EventLoopFuture<HTTP1Channel.Value> {
            let arrival = gate.admit(channel)
            return channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(RequestDeadline(arrival: arrival))
                try tls?.add(to: channel)
            }.flatMap { [inner] in
                inner.setup(channel: channel, logger: logger)
            }.flatMapThrowing { [bodyTimeout] value in
                // Each is placed before the others, right after the decoder.
                try HostCheck.add(to: channel)
                try BodyDeadline.add(to: channel, bodyTimeout)
                try HTTPConformanceHandler.add(to: channel, bodyBytesMax: BodyReader.batchBytesMax)
                return value
            }
        }

        func handle(value: HTTP1Channel.Value, logger: Logger) async {
            await withTaskExecutorPreference(executor(value.channel.eventLoop)) {
                await inner.handle(value: value, logger: logger)
            }
        }
    }
}
