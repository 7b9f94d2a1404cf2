import Logging
import NIOCore
import Synchronization

/// Receives the events of a ``RedisLink``.
///
/// Every method is called on the link's event loop.
protocol RedisLinkDelegate: AnyObject {
    /// The connection is logged in; commands may be written.
    func linkReady()
    /// A reply or a pub/sub message has arrived.
    func linkReceived(_ value: RedisValue)
    /// A connection that was ready or draining is lost.
    func linkLost(_ failure: RedisLinkFailure)
    /// An attempt to connect has failed; the link retries.
    func linkUnreachable()
    /// The socket accepts bytes again.
    func linkWritable()
    /// The link has ended and will never be ready again.
    func linkFinished()
}

/// One connection that is kept open: connects, logs in, and reconnects with backoff until it is
/// stopped.
///
/// A thin shell around ``RedisLinkState``. A class because it is the identity of a connection.
/// `@unchecked Sendable` because its state is confined to `eventLoop`. Every method must be called
/// there unless it says otherwise.
final class RedisLink: @unchecked Sendable {
    /// The user of the link and the means to connect.
    private final class Context {
        let connector: RedisConnector
        let locator: any RedisLocator
        let delegate: any RedisLinkDelegate
        let finished: EventLoopPromise<Void>

        init(
            _ connector: RedisConnector,
            _ locator: any RedisLocator,
            _ delegate: any RedisLinkDelegate,
            _ finished: EventLoopPromise<Void>
        ) {
            self.connector = connector
            self.locator = locator
            self.delegate = delegate
            self.finished = finished
        }
    }

    private let eventLoop: any EventLoop
    private let configuration: RedisConfiguration
    private let logger: Logger
    private var state: RedisLinkState<Context, RedisChannelHandler>
    private var random = SystemRandomNumberGenerator()
    private var outages: RedisOutageLog
    /// Whether connecting has failed, or a connection was lost, since the start.
    private var hasFailed = false
    /// The link's name in the log: `commands`, `subscriptions`.
    private let role: String
    /// The reason why there is no connection now; readable on any thread.
    let failure = Mutex<String?>(nil)
    /// Ends a state that lasts too long: a login, draining or a backoff.
    private var timer: Scheduled<Void>?
    /// The server connected to or tried last; `nil` before the first is found.
    private(set) var endpoint: RedisEndpoint?

    /// The role of the link that carries all commands but durable ones.
    static let commandRole = "commands"

    init(
        handshake: RedisHandshake,
        configuration: RedisConfiguration,
        role: String,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.configuration = configuration
        self.role = role
        self.outages = RedisOutageLog(interval: configuration.failureLogInterval)
        self.state = RedisLinkState(
            handshake: handshake,
            backoff: RedisBackoff(
                base: configuration.reconnectBase,
                cap: configuration.reconnectCap
            )
        )
        var logger = logger
        logger[metadataKey: "redis.role"] = "\(role)"
        self.logger = logger
    }

    /// Whether commands may be written.
    var isReady: Bool { state.isReady }

    /// Whether the socket accepts more bytes now.
    var isWritable: Bool { state.isReady && state.socket?.isWritable == true }

    /// Starts connecting.
    ///
    /// `finished` succeeds once the link has ended after ``stop(graceful:)``.
    func start(
        _ connector: RedisConnector,
        locator: any RedisLocator,
        delegate: any RedisLinkDelegate,
        finished: EventLoopPromise<Void>
    ) {
        let context = Context(connector, locator, delegate, finished)
        guard state.start(context) else { return finished.succeed() }
        locate()
    }

    /// Stops the link permanently.
    ///
    /// Returns whether to wait for outstanding replies: if `graceful`, the delegate calls
    /// ``closeDrained()`` after the last one.
    func stop(graceful: Bool) -> Bool {
        let (context, socket) = (state.context, state.socket)
        switch state.stop(graceful: graceful) {
        case .finish: finish(context, socket)
        case .drain:
            limitDraining()
            return true
        case .close: close(.shutDown)
        case .nothing: break
        }
        return false
    }

    /// Writes and flushes.
    func write(_ buffer: ByteBuffer) {
        // A failed write closes the channel, which reports the loss.
        state.socket?.write(buffer)
    }

    /// Stops writing; the delegate calls ``closeDrained()`` after the last reply.
    func drain(_ failure: RedisLinkFailure) {
        guard state.isReady else { return }
        state.drain(failure)
        limitDraining()
    }

    /// Closes the connection after a while, whether or not every written command has its reply.
    private func limitDraining() {
        timer?.cancel()
        timer = eventLoop.scheduleTask(in: TimeAmount(configuration.drainTimeout)) {
            self.closeDrained()
        }
    }

    /// Closes the connection if it is draining, when every written command has its reply.
    func closeDrained() {
        if let failure = state.drainFailure { lost(failure) }
    }

    /// Closes the connection as if it had broken.
    func close(_ failure: RedisLinkFailure) {
        lost(failure)
    }

    // MARK: Events of the channel handler

    /// The socket is connected.
    func connected(_ channel: any Channel) {
        guard let commands = state.opened() else {
            channel.close(promise: nil)
            return
        }
        timer = eventLoop.scheduleTask(in: TimeAmount(configuration.connectTimeout)) {
            self.lost(.loginTimedOut)
        }
        var buffer = channel.allocator.buffer(capacity: 128)
        for command in commands {
            guard command.encode(into: &buffer, bytesMax: configuration.commandBytesMax) else {
                return lost(
                    RedisLinkFailure(
                        "the login is too long",
                        remedy: "shorten the password in the Redis URL"
                    )
                )
            }
        }
        channel.writeAndFlush(buffer, promise: nil)
    }

    /// A reply has arrived.
    func received(_ value: RedisValue) {
        if let context = state.readyContext { return context.delegate.linkReceived(value) }
        switch state.receiveLogin(value, now: RedisInstant(eventLoop.now)) {
        case .wait: break
        case .fail(let failure): lost(failure)
        case .ready:
            timer?.cancel()
            timer = nil
            self.failure.withLock { $0 = nil }
            // The other links fail together with the one for commands, so only their recovery is
            // logged at `info`.
            let isNotable = outages.recovered() && (role == Self.commandRole || hasFailed)
            logger.log(
                level: isNotable ? .info : .debug,
                "connected to Redis",
                metadata: ["redis.node": "\(node)"]
            )
            state.readyContext?.delegate.linkReady()
        }
    }

    /// The socket accepts bytes again.
    func writable() {
        if state.isReady { state.readyContext?.delegate.linkWritable() }
    }

    /// The connection broke, could not be made, or is closed deliberately.
    func lost(_ failure: RedisLinkFailure) {
        let (context, socket, hadBeenReady) = (
            state.context, state.socket, state.readyContext != nil
        )
        let next = state.lost(now: RedisInstant(eventLoop.now), using: &random)
        guard let context, next != .nothing else { return }
        self.failure.withLock { $0 = failure.message }
        abandon(socket)
        if hadBeenReady {
            context.delegate.linkLost(failure)
        } else {
            context.delegate.linkUnreachable()
        }
        switch next {
        case .nothing: break
        case .finish: finish(context, nil)
        case .reconnect(let delay, let attempt):
            log(failure, hadBeenReady, attempt)
            timer = eventLoop.scheduleTask(in: TimeAmount(delay)) {
                if self.state.retry() { self.locate() }
            }
        }
    }

    // MARK: Helpers

    private var node: String { endpoint.map { "\($0)" } ?? "unknown" }

    private func log(_ failure: RedisLinkFailure, _ hadBeenReady: Bool, _ attempt: Int) {
        let now = RedisInstant(eventLoop.now)
        hasFailed = true
        let failures = outages.failed(attempt: attempt, isLoss: hadBeenReady, now: now)
        // Without commands the client does not work, and an operator must act if Redis does not
        // recover.
        let isBack = attempt == 1 && hadBeenReady
        let level: Logger.Level = !isBack && role == Self.commandRole ? .error : .warning
        logger.log(
            level: failures == nil ? .debug : level,
            hadBeenReady ? "connection to Redis lost" : "connecting to Redis failed",
            metadata: [
                "redis.node": "\(node)", "error": "\(failure.message)",
                "remedy": "\(failure.remedy)", "attempt": "\(attempt)",
                "failures": "\(failures ?? 1)",
            ]
        )
    }

    private func locate() {
        guard let context = state.context else { return }
        context.locator.locate(on: eventLoop).assumeIsolated().whenComplete { result in
            // The link may have been stopped meanwhile.
            guard self.state.isLocating else { return }
            switch result {
            case .success(let endpoint): self.connect(to: endpoint, context)
            case .failure(let error): self.lost(.network(error))
            }
        }
    }

    private func connect(to endpoint: RedisEndpoint, _ context: Context) {
        self.endpoint = endpoint
        let handler = RedisChannelHandler(link: self, limits: RedisReplyLimits(configuration))
        state.found(handler)
        let bound = NIOLoopBound(handler, eventLoop: eventLoop)
        context.connector.connect(to: endpoint, on: eventLoop, handler: bound).whenFailure {
            error in
            // Only if this attempt is still the current one and has not become active before.
            if self.state.isConnecting, self.state.socket === bound.value {
                self.lost(.network(error))
            }
        }
    }

    /// Closes the socket without waiting: a dead peer would not answer the TLS close message.
    private func abandon(_ socket: RedisChannelHandler?) {
        timer?.cancel()
        timer = nil
        socket?.abandon()
    }

    private func finish(_ context: Context?, _ socket: RedisChannelHandler?) {
        abandon(socket)
        context?.delegate.linkFinished()
        context?.finished.succeed()
        logger.debug("connection to Redis ended")
    }
}
