import Logging
import NIOCore
import Synchronization

/// The connection that all subscriptions of a client share.
///
/// In RESP2 a subscribed connection cannot carry other commands, so subscriptions have a separate
/// one. It connects with the first subscription. ``RedisSubscriptionState`` makes the decisions.
/// `@unchecked Sendable`: apart from `nextID`, state is confined to `eventLoop`.
final class RedisPubSubLink: RedisLinkDelegate, @unchecked Sendable {
    private enum Phase {
        case idle
        /// May connect once there is a subscription.
        case startable(RedisConnector, any RedisLocator, finished: EventLoopPromise<Void>)
        case started
        case shutDown
    }

    private let eventLoop: any EventLoop
    private let configuration: RedisConfiguration
    private let logger: Logger
    private let link: RedisLink
    private let nextID = Atomic<UInt64>(0)
    private var state = RedisSubscriptionState()
    private var buffers: [UInt64: RedisSubscriptionBuffer] = [:]
    private var phase = Phase.idle
    /// The next check whether the server is alive; only while connected.
    private var keepAlive: Scheduled<Void>?

    init(
        link: RedisLink,
        configuration: RedisConfiguration,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.link = link
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.logger = logger
    }

    /// Makes a subscription; any thread.
    func subscribe(_ topics: Set<RedisTopic>) -> RedisSubscription {
        let id = nextID.add(1, ordering: .relaxed).newValue
        let buffer = RedisSubscriptionBuffer(
            eventsMax: configuration.subscriptionEventsMax,
            bytesMax: configuration.subscriptionBytesMax
        )
        eventLoop.execute { self.add(id, topics, buffer) }
        return RedisSubscription(buffer: buffer) { [weak self] in
            guard let self else { return }
            self.eventLoop.execute { self.remove(id) }
        }
    }

    /// Allows the link to connect, which it does with the first subscription; any thread.
    func start(
        _ connector: RedisConnector,
        locator: any RedisLocator,
        finished: EventLoopPromise<Void>
    ) {
        eventLoop.execute {
            guard case .idle = self.phase else { return finished.succeed() }
            self.phase = .startable(connector, locator, finished: finished)
            self.startIfNeeded()
        }
    }

    /// Ends every subscription and the connection; any thread.
    func stop() {
        eventLoop.execute {
            let before = self.phase
            self.shutDown()
            if case .startable(_, _, let finished) = before { finished.succeed() }
            _ = self.link.stop(graceful: false)
        }
    }

    /// Closes the connection now if its server is not valid any more; any thread.
    func relocate(
        _ failure: RedisLinkFailure,
        unless isValid: @escaping @Sendable (RedisEndpoint) -> Bool
    ) {
        eventLoop.execute {
            guard self.link.isReady, let endpoint = self.link.endpoint, !isValid(endpoint) else {
                return
            }
            self.link.close(failure)
        }
    }

    // MARK: Subscriptions

    private func add(
        _ id: UInt64,
        _ topics: Set<RedisTopic>,
        _ buffer: RedisSubscriptionBuffer
    ) {
        if case .shutDown = phase { return buffer.end() }
        buffers[id] = buffer
        let (commands, deliveries) = state.add(id, topics: topics, now: now)
        write(commands)
        deliver(deliveries)
        startIfNeeded()
    }

    private func remove(_ id: UInt64) {
        guard buffers.removeValue(forKey: id) != nil else { return }
        write(state.remove(id, now: now))
    }

    private func startIfNeeded() {
        guard !buffers.isEmpty, case .startable(let connector, let locator, let finished) = phase
        else { return }
        phase = .started
        link.start(connector, locator: locator, delegate: self, finished: finished)
    }

    private func shutDown() {
        phase = .shutDown
        keepAlive?.cancel()
        keepAlive = nil
        for buffer in buffers.values { buffer.end() }
        buffers = [:]
    }

    private func deliver(_ deliveries: [RedisSubscriptionState.Delivery]) {
        for delivery in deliveries {
            for id in delivery.subscribers {
                for event in delivery.events { buffers[id]?.push(event) }
            }
        }
    }

    private func write(_ commands: [RedisCommand]) {
        guard !commands.isEmpty else { return }
        var buffer = ByteBuffer()
        for command in commands {
            guard command.encode(into: &buffer, bytesMax: configuration.commandBytesMax) else {
                return link.close(
                    RedisLinkFailure(
                        "the names of all subscriptions exceed \(configuration.commandBytesMax)"
                            + " bytes",
                        remedy: "subscribe to a pattern instead of many channels"
                    )
                )
            }
        }
        link.write(buffer)
    }

    private func scheduleKeepAlive() {
        keepAlive = eventLoop.scheduleTask(in: TimeAmount(configuration.keepAliveInterval)) {
            let timeoutNs = UInt64(
                clamping: TimeAmount(self.configuration.commandTimeout).nanoseconds
            )
            let nowNs = self.now.uptimeNs
            let since = RedisInstant(uptimeNs: nowNs > timeoutNs ? nowNs - timeoutNs : 0)
            guard let ping = self.state.ping(now: self.now, unansweredSince: since) else {
                return self.link.close(.stalled)
            }
            self.write([ping])
            self.scheduleKeepAlive()
        }
    }

    private var now: RedisInstant { RedisInstant(eventLoop.now) }

    // MARK: RedisLinkDelegate

    func linkReady() {
        write(state.connected(now: now))
        scheduleKeepAlive()
    }

    func linkReceived(_ value: RedisValue) {
        switch state.receive(value) {
        case .nothing: break
        case .deliver(let deliveries): deliver(deliveries)
        case .malformed(let detail): link.close(.codec(.malformed(detail)))
        case .refused(let topic, let error):
            logger.error(
                "Redis rejected a subscription; retrying after the next reconnect",
                metadata: [
                    "topic": "\(topic)", "error": "\(error)",
                    "remedy": "allow the channel for this user: ACL SETUSER name &channel",
                ]
            )
        }
    }

    func linkLost(_ failure: RedisLinkFailure) {
        keepAlive?.cancel()
        keepAlive = nil
        state.disconnected()
    }

    func linkUnreachable() {}

    func linkWritable() {}

    func linkFinished() {
        shutDown()
    }
}
