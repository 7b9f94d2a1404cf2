import Logging
import NIOCore
import Synchronization

/// What uses a ``RedisLink``; everything is called on the link's event loop.
protocol RedisLinkDelegate: AnyObject {
    /// The connection is logged in: write.
    func linkReady()
    /// A reply, or a message, has arrived.
    func linkReceived(_ value: RedisValue)
    /// The connection that was ready, or draining, is gone.
    func linkLost(_ failure: RedisLinkFailure)
    /// An attempt to connect has failed; others follow.
    func linkUnreachable()
    /// The socket takes bytes again.
    func linkWritable()
    /// The link will never be ready again.
    func linkFinished()
}

/// One connection that is kept alive: connects, logs in, reconnects with backoff, for ever.
///
/// The thin shell of ``RedisLinkState``. A class because it is one connection's identity;
/// `@unchecked Sendable` because its state is confined to `eventLoop`, which every method expects to
/// run on unless it says otherwise.
final class RedisLink: @unchecked Sendable {
    /// Who uses the link, and what it connects with.
    private final class Use {
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
    private var state: RedisLinkState<Use, RedisChannelHandler>
    private var random = SystemRandomNumberGenerator()
    private var outages: RedisOutageLog
    /// Whether it could not be made, or was lost, at any time.
    private var hasFailed = false
    /// What the log calls it: `commands`, `subscriptions`.
    private let role: String
    /// Why there is no connection now; for whoever asks, on any thread.
    let failure = Mutex<String?>(nil)
    /// Ends the present state if nothing else does: a login, a draining, a back-off.
    private var timer: Scheduled<Void>?
    /// The server connected to, or tried last; nil before the first is found.
    private(set) var endpoint: RedisEndpoint?

    /// How long the answers to written commands are waited for when the connection is replaced: the
    /// old server answers at once, or it hangs.
    private static let drainTimeout = TimeAmount.seconds(1)

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

    /// Whether the socket takes more bytes at once.
    var isWritable: Bool { state.isReady && state.socket?.isWritable == true }

    /// Starts connecting; `finished` succeeds once the link has ended after ``stop(graceful:)``.
    func start(
        _ connector: RedisConnector,
        locator: any RedisLocator,
        delegate: any RedisLinkDelegate,
        finished: EventLoopPromise<Void>
    ) {
        let use = Use(connector, locator, delegate, finished)
        guard state.start(use) else { return finished.succeed() }
        locate()
    }

    /// Ends for good; the delegate calls ``closeDrained()`` when its last reply has come if
    /// `graceful`.
    ///
    /// Returns whether to wait for outstanding replies.
    func stop(graceful: Bool) -> Bool {
        let (use, socket) = (state.use, state.socket)
        switch state.stop(graceful: graceful) {
        case .finish: finish(use, socket)
        case .drain: return true
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

    /// Writes nothing more; the delegate calls ``closeDrained()`` when its last reply has come.
    func drain(_ failure: RedisLinkFailure) {
        guard state.isReady else { return }
        state.drain(failure)
        timer = eventLoop.scheduleTask(in: Self.drainTimeout) { self.lost(failure) }
    }

    /// Closes the connection if it is draining; every written command is answered.
    func closeDrained() {
        if let failure = state.leaving { lost(failure) }
    }

    /// Gives the connection up, as if it had broken.
    func close(_ failure: RedisLinkFailure) {
        lost(failure)
    }

    // MARK: Reports of the channel handler

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
        if let use = state.user { return use.delegate.linkReceived(value) }
        switch state.receiveLogin(value, now: RedisInstant(eventLoop.now)) {
        case .wait: break
        case .fail(let failure): lost(failure)
        case .ready:
            timer?.cancel()
            timer = nil
            self.failure.withLock { $0 = nil }
            // The others follow that of commands; of them it is news only that they are back.
            let isNews = outages.recovered() && (role == RedisNode.commands || hasFailed)
            logger.log(
                level: isNews ? .info : .debug,
                "connected to Redis",
                metadata: ["redis.node": "\(node)"]
            )
            state.user?.delegate.linkReady()
        }
    }

    /// The socket takes bytes again.
    func writable() {
        if state.isReady { state.user?.delegate.linkWritable() }
    }

    /// The connection broke, could not be made, or is given up.
    func lost(_ failure: RedisLinkFailure) {
        let (use, socket, hadBeenReady) = (state.use, state.socket, state.user != nil)
        let next = state.lost(now: RedisInstant(eventLoop.now), using: &random)
        guard let use, next != .nothing else { return }
        self.failure.withLock { $0 = failure.message }
        abandon(socket)
        if hadBeenReady { use.delegate.linkLost(failure) } else { use.delegate.linkUnreachable() }
        switch next {
        case .nothing: break
        case .finish: finish(use, nil)
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
        // Without commands nothing here works, and a person must act when it does not come back.
        let isBack = attempt == 1 && hadBeenReady
        let level: Logger.Level = !isBack && role == RedisNode.commands ? .error : .warning
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
        guard let use = state.use else { return }
        use.locator.locate(on: eventLoop).assumeIsolated().whenComplete { result in
            // The link may have been stopped meanwhile.
            guard self.state.isLocating else { return }
            switch result {
            case .success(let endpoint): self.connect(to: endpoint, use)
            case .failure(let error): self.lost(.network(error))
            }
        }
    }

    private func connect(to endpoint: RedisEndpoint, _ use: Use) {
        self.endpoint = endpoint
        let handler = RedisChannelHandler(link: self, limits: RedisReplyLimits(configuration))
        state.found(handler)
        let bound = NIOLoopBound(handler, eventLoop: eventLoop)
        use.connector.connect(to: endpoint, on: eventLoop, handler: bound).whenFailure { error in
            // Only if this attempt is still the current one and has not become active before.
            if self.state.isConnecting, self.state.socket === bound.value {
                self.lost(.network(error))
            }
        }
    }

    /// Closes without waiting for it: a dead peer would not answer TLS' farewell.
    private func abandon(_ socket: RedisChannelHandler?) {
        timer?.cancel()
        timer = nil
        socket?.abandon()
    }

    private func finish(_ use: Use?, _ socket: RedisChannelHandler?) {
        abandon(socket)
        use?.delegate.linkFinished()
        use?.finished.succeed()
        logger.debug("connection to Redis ended")
    }
}
