import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Poller
import PollerHTTP
import PollerIdentity
import PollerNet

/// Runs a router on a bounded HTTP/1.1 server; both listeners are made here.
///
/// Each bound is where the cost arises: the number of connections per address (``ConnectionGate``,
/// before a byte is parsed), the size of headers (the decoder, before they are kept), the time until
/// a request is complete and its answer is read (``RequestDeadline``), the time between two requests
/// (the idle timeout). A request names one host (``HostCheck``), and gets what HTTP promises its client
/// (``ClientExpectations``). The size and time of a body are bounded by its route (``BodyReader``).
struct HTTPService {
    /// A connection costs a file descriptor and some 30 KiB; 10,000 fit a usual limit.
    private static let connectionsMax = 10_000
    private static let headerBytesMax = 16_384
    private static let headersMax = 64
    /// Longer than the longest long poll, so no proxy or client races with it.
    private static let idleTimeout = TimeAmount.seconds(75)

    /// What the listener is called: `api` listens where `--api-bind` says.
    let name: String
    let bind: ListenAddress
    let addresses: PerAddressLimit
    /// Nil for a listener that speaks plain HTTP.
    let tls: ListenerTLS?
    /// Below which path a proxy publishes it.
    var publication = Publication.atRoot
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
            additionalChannelHandlers: [RequestDeadline.Heads()],
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
            server: HTTPServerBuilder { [tls] responder in
                GatedChannel(
                    gate: gate,
                    tls: tls,
                    inner: HTTP1Channel(responder: responder, configuration: configuration)
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

    /// A connection for which there is a place.
    private struct GatedChannel: ServerChildChannel {
        let gate: ConnectionGate
        let tls: ListenerTLS?
        let inner: HTTP1Channel

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
            }.flatMapThrowing { value in
                try HostCheck.add(to: channel)
                try ClientExpectations.add(to: channel, bodyBytesMax: BodyReader.batchBytesMax)
                return value
            }
        }

        func handle(value: HTTP1Channel.Value, logger: Logger) async {
            await inner.handle(value: value, logger: logger)
        }
    }
}

/// What a request carries along: its id, its logger, and the connection it came on.
struct APIContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The id the logger carries.
    ///
    /// The framework's own `id` traps under a log handler that keeps no metadata.
    let requestID: String
    /// Who sends the request; a stranger on routes that are for everybody.
    var caller = Caller.stranger
    /// Whether the key that was shown is still good; asked again where time has passed.
    var recheck: @Sendable () throws(Problem) -> Void = {}
    /// What ends once that key is not good any more.
    var revocation: @Sendable () -> AsyncStream<Void>? = { nil }
    /// Seals the cursors that the caller is told; what it is when there is none is never used.
    var cursors = SealedCursors.ephemeral
    /// Where changes are noted; nil where nobody keeps a trail.
    var audit: RequestAudit?
    /// The same for each time that a named request is carried out, also after a crash
    /// (``RepeatMiddleware``); nil for one without a name, or whose name is not kept.
    var seed: String?
    /// What the request changes.
    let changes = ChangeNotes()
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.logger[metadataKey: "hb.request.id"]?.description ?? "\(RequestID())"
        channel = source.channel
    }

    /// Who sends the request: a client, or the last proxy before us.
    var waiter: LongPolls.Waiter {
        LongPolls.Waiter(
            key: caller == .local ? nil : caller.name,
            address: channel.remoteAddress.flatMap(IPAddress.init),
            revocation: revocation,
            recheck: recheck
        )
    }

    /// Whether the client, or the last proxy before us, has an address of one of these ranges.
    func comes(from ranges: [AddressRange]) -> Bool {
        guard let address = channel.remoteAddress.flatMap(IPAddress.init) else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// The address of that client or proxy; what headers say of others is not believed.
    var peer: String? { channel.remoteAddress?.ipAddress }

    /// Keeps what the caller has done to a watch beside it.
    func note(_ deed: String, on key: WatchKey, in watches: any WatchStore) async {
        await watches.tryToNote(WatchNote(deed: deed, by: caller.actor, of: key), of: key)
    }

    /// Closes the connection two seconds from now, whatever the client still sends.
    ///
    /// For answers given before the body was read: the client has time to read the answer, and
    /// nobody can make us swallow gigabytes.
    func closeSoon() {
        let channel = channel
        channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
    }
}
