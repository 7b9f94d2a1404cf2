import NIOCore
import Synchronization

/// The connection that all commands of a client share.
///
/// Callers post to an inbox; the event loop empties it once a turn and writes everything in one
/// go, so commands of many tasks share a system call without any of them waiting for it. The
/// decisions are ``RedisPipelineState``'s. `@unchecked Sendable`: apart from `inbox` and
/// `connected`, state is confined to `eventLoop`.
final class RedisCommandLink: RedisLinkDelegate, @unchecked Sendable {
    private enum Event {
        case submit(RedisRequest)
        case cancel(RedisRequest)
        case addObserver(RedisConnectionObserver)
        case removeObserver(RedisConnectionObserver)
    }

    private struct Inbox {
        var events: [Event] = []
        var bytes = 0
        var isWakeScheduled = false
    }

    /// The shortest time between two looks for expired requests: finer is of no use for timeouts of
    /// seconds, and each look may walk over every slot.
    private static let expiryGranularity = Duration.milliseconds(10)

    private let eventLoop: any EventLoop
    private let configuration: RedisConfiguration
    private let link: RedisLink
    private let inbox = Mutex(Inbox())
    private let connected = Atomic(false)
    private var pipeline: RedisPipelineState<RedisRequest>
    private var observers: [ObjectIdentifier: RedisConnectionObserver] = [:]
    private var expiryTimer: Scheduled<Void>?
    private var isShutDown = false

    init(link: RedisLink, configuration: RedisConfiguration, eventLoop: any EventLoop) {
        self.link = link
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.pipeline = RedisPipelineState(
            commandsMax: configuration.inFlightMax,
            bytesMax: configuration.commandBytesMax,
            timeout: configuration.commandTimeout
        )
    }

    /// Whether commands are being written at once; any thread.
    var isConnected: Bool { connected.load(ordering: .acquiring) }

    /// Performs commands and waits for their replies; any thread.
    func perform(_ commands: [RedisCommand]) async -> RedisRequest.Outcome {
        var wire = ByteBuffer()
        for command in commands {
            guard command.encode(into: &wire, bytesMax: configuration.commandBytesMax) else {
                return .failure(.tooManyCommandsInFlight)
            }
        }
        let request = RedisRequest(wire: wire, commands: commands.count)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                request.attach(continuation)
                if !post(.submit(request)) {
                    request.resume(.failure(.tooManyCommandsInFlight))
                }
            }
        } onCancel: {
            _ = post(.cancel(request))
        }
    }

    /// Tells `observer` as soon as the connection is ready; any thread.
    func add(_ observer: RedisConnectionObserver) {
        _ = post(.addObserver(observer))
    }

    /// Forgets `observer`; any thread.
    func remove(_ observer: RedisConnectionObserver) {
        _ = post(.removeObserver(observer))
    }

    /// Starts connecting; any thread.
    func start(_ connector: RedisConnector, finished: EventLoopPromise<Void>) {
        eventLoop.execute { self.link.start(connector, delegate: self, finished: finished) }
    }

    /// Ends for good, after written commands are answered if `graceful`; any thread.
    func stop(graceful: Bool) {
        eventLoop.execute {
            self.shutDown()
            if self.link.stop(graceful: graceful) { self.closeIfDrained() }
        }
    }

    // MARK: Inbox

    /// Leaves an event for the event loop; `false` if there is no room for another request.
    ///
    /// The inbox has the limits of what it is emptied into. Other events always fit: there are at
    /// most two for each request or wait that was let in.
    private func post(_ event: Event) -> Bool {
        enum Posted {
            case refused
            case quietly
            case wakingUp
        }
        let posted: Posted = inbox.withLock { inbox in
            if case .submit(let request) = event {
                inbox.bytes += request.wire.readableBytes
                guard inbox.events.count < configuration.inFlightMax,
                    inbox.bytes <= configuration.commandBytesMax
                else {
                    inbox.bytes -= request.wire.readableBytes
                    return .refused
                }
            }
            inbox.events.append(event)
            if inbox.isWakeScheduled { return .quietly }
            inbox.isWakeScheduled = true
            return .wakingUp
        }
        if case .wakingUp = posted { eventLoop.execute { self.emptyInbox() } }
        if case .refused = posted { return false }
        return true
    }

    private func emptyInbox() {
        let events = inbox.withLock { inbox in
            let events = inbox.events
            inbox.events = []
            inbox.events.reserveCapacity(min(events.count, 256))
            inbox.bytes = 0
            inbox.isWakeScheduled = false
            return events
        }
        for event in events {
            switch event {
            case .submit(let request): submit(request)
            case .cancel(let request): cancel(request)
            case .addObserver(let observer): observe(observer)
            case .removeObserver(let observer):
                observers[ObjectIdentifier(observer)] = nil
            }
        }
        flush()
        scheduleExpiry()
    }

    private func submit(_ request: RedisRequest) {
        if request.isCancelled { return request.resume(.failure(.cancelled)) }
        if isShutDown { return request.resume(.failure(.closed)) }
        let id = pipeline.submit(
            request,
            wire: request.wire,
            commands: request.commands,
            now: RedisInstant(eventLoop.now)
        )
        guard let id else { return request.resume(.failure(.tooManyCommandsInFlight)) }
        request.id = id
    }

    private func cancel(_ request: RedisRequest) {
        request.isCancelled = true
        if let id = request.id { pipeline.cancel(id)?.resume(.failure(.cancelled)) }
    }

    private func observe(_ observer: RedisConnectionObserver) {
        if isShutDown { return observer.resume(.failure(.closed)) }
        if link.isReady { return observer.resume(.success(())) }
        observers[ObjectIdentifier(observer)] = observer
    }

    private func flush() {
        while pipeline.hasWaiting, link.isWritable {
            var buffer = ByteBuffer()
            pipeline.write(
                into: &buffer,
                bytesMax: RedisConnector.writeBytesMax,
                now: RedisInstant(eventLoop.now)
            )
            if buffer.readableBytes > 0 { link.write(buffer) }
        }
    }

    // MARK: Expiry

    private func scheduleExpiry() {
        guard expiryTimer == nil, let next = pipeline.nextExpiry else { return }
        let earliest = RedisInstant(eventLoop.now) + Self.expiryGranularity
        expiryTimer = eventLoop.scheduleTask(deadline: max(next, earliest).deadline) {
            self.expiryTimer = nil
            self.expire()
        }
    }

    private func expire() {
        let expiry = pipeline.expire(now: RedisInstant(eventLoop.now))
        fail(expiry.failures)
        if expiry.isStalled { link.close(.stalled) }
        scheduleExpiry()
    }

    private func fail(_ failures: [RedisPipelineState<RedisRequest>.Failure]) {
        for failure in failures { failure.waiter.resume(.failure(failure.error)) }
    }

    private func closeIfDrained() {
        if !pipeline.hasWritten { link.close(isShutDown ? .shutDown : .readOnly) }
    }

    /// Refuses everything that is not written yet, from now on.
    private func shutDown() {
        isShutDown = true
        connected.store(false, ordering: .releasing)
        fail(pipeline.close())
        for observer in observers.values { observer.resume(.failure(.closed)) }
        observers = [:]
    }

    // MARK: RedisLinkDelegate

    func linkReady() {
        connected.store(true, ordering: .releasing)
        for observer in observers.values { observer.resume(.success(())) }
        observers = [:]
        flush()
    }

    func linkReceived(_ value: RedisValue) {
        if case .error(let error) = value, error.code == "READONLY" {
            connected.store(false, ordering: .releasing)
            link.drain(.readOnly)
        }
        switch pipeline.receive(value) {
        case .accepted: break
        case .complete(let request, let replies): request.resume(.success(replies))
        case .unexpected: return link.close(.codec(.malformed("a reply that nothing asked for")))
        }
        if !link.isReady { closeIfDrained() }
    }

    func linkLost(_ failure: RedisLinkFailure) {
        connected.store(false, ordering: .releasing)
        fail(pipeline.connectionLost(first: failure.commandError))
    }

    func linkWritable() {
        flush()
    }

    func linkFinished() {
        shutDown()
    }
}
