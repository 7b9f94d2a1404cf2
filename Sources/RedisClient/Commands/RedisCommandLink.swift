import NIOCore
import Synchronization

/// An event that a ``RedisCommandLink`` reports to the owner that selects its server.
enum RedisLinkEvent: Hashable, Sendable {
    /// The link is connected and logged in.
    case ready(RedisEndpoint)
    /// The connection is lost or could not be made; the link retries.
    case down
    /// The server is the wrong one, according to its own reply or to another source.
    case wrongServer
}

/// The connection to one server that the commands of all tasks share.
///
/// Callers post to an inbox. The event loop empties it once per iteration and writes everything at
/// once. Commands of many tasks thus share a system call, and none of them waits for it.
/// ``RedisPipelineState`` makes the decisions. `@unchecked Sendable`: apart from `inbox` and
/// `connected`, state is confined to `eventLoop`.
final class RedisCommandLink: RedisLinkDelegate, @unchecked Sendable {
    /// The shortest time between two checks for expired requests.
    ///
    /// A finer one is useless for timeouts of seconds, and each check may visit every slot.
    private static let expiryInterval = Duration.milliseconds(10)

    /// Whether commands can be written, and the observers waiting for that.
    private enum Availability {
        /// The link connects, or is leaving a server.
        case awaited(by: [ObjectIdentifier: RedisWaiter<Void>])
        case ready
        case shutDown
    }

    private let eventLoop: any EventLoop
    private let configuration: RedisConfiguration
    private let link: RedisLink
    private let report: @Sendable (RedisLinkEvent) -> Void
    private let inbox: Mutex<RedisCommandInbox>
    private let connected = Atomic(false)
    private var pipeline: RedisPipelineState<RedisRequest>
    private var availability = Availability.awaited(by: [:])
    private var isExpiryScheduled = false

    /// Makes a link that connects once it is started; `report` is called on its event loop.
    init(
        link: RedisLink,
        configuration: RedisConfiguration,
        eventLoop: any EventLoop,
        report: @escaping @Sendable (RedisLinkEvent) -> Void = { _ in }
    ) {
        self.link = link
        self.report = report
        self.configuration = configuration
        self.eventLoop = eventLoop
        // The inbox has the same limits as the pipeline it is emptied into.
        self.inbox = Mutex(
            RedisCommandInbox(
                commandsMax: configuration.inFlightMax,
                bytesMax: configuration.commandBytesMax
            )
        )
        self.pipeline = RedisPipelineState(
            commandsMax: configuration.inFlightMax,
            bytesMax: configuration.commandBytesMax,
            timeout: configuration.commandTimeout
        )
    }

    /// The reason why there is no connection now, as text for an operator; any thread.
    var failure: String? { link.failure.withLock(\.self) }

    /// Whether commands are written at once; any thread.
    var isConnected: Bool { connected.load(ordering: .acquiring) }

    /// Performs commands and waits for their replies; any thread.
    func perform(_ commands: [RedisCommand]) async -> RedisRequest.Outcome {
        guard let wire = encode(commands) else { return .failure(.tooManyCommandsInFlight) }
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

    /// Performs commands and calls `completion` on the event loop, or at once if they are rejected;
    /// any thread.
    func perform(
        _ commands: [RedisCommand],
        completion: @escaping @Sendable (RedisRequest.Outcome) -> Void
    ) {
        guard let wire = encode(commands) else {
            return completion(.failure(.tooManyCommandsInFlight))
        }
        let request = RedisRequest(wire: wire, commands: commands.count)
        request.attach(completion)
        if !post(.submit(request)) { request.resume(.failure(.tooManyCommandsInFlight)) }
    }

    /// Returns the commands as RESP, or `nil` if they are too long.
    private func encode(_ commands: [RedisCommand]) -> ByteBuffer? {
        var wire = ByteBuffer()
        for command in commands {
            guard command.encode(into: &wire, bytesMax: configuration.commandBytesMax) else {
                return nil
            }
        }
        return wire
    }

    /// Completes `observer` as soon as the connection is ready; any thread.
    func add(_ observer: RedisWaiter<Void>) {
        _ = post(.addObserver(observer))
    }

    /// Removes `observer`; any thread.
    func remove(_ observer: RedisWaiter<Void>) {
        _ = post(.removeObserver(observer))
    }

    /// Starts connecting; any thread.
    func start(
        _ connector: RedisConnector,
        locator: any RedisLocator,
        finished: EventLoopPromise<Void>
    ) {
        eventLoop.execute {
            self.link.start(connector, locator: locator, delegate: self, finished: finished)
        }
    }

    /// Leaves a server that is not `endpoint`, once written commands have their replies; any
    /// thread.
    func relocate(to endpoint: RedisEndpoint) {
        eventLoop.execute {
            guard self.link.isReady, self.link.endpoint != endpoint else { return }
            self.leave(.masterMoved)
            self.closeIfDrained()
        }
    }

    /// Ends permanently; if `graceful`, after written commands have their replies; any thread.
    func stop(graceful: Bool) {
        eventLoop.execute {
            self.shutDown()
            if self.link.stop(graceful: graceful) { self.closeIfDrained() }
        }
    }

    // MARK: Inbox

    /// Posts an event to the event loop; returns `false` if there is no room for another request.
    private func post(_ event: RedisCommandInbox.Event) -> Bool {
        switch inbox.withLock({ $0.append(event) }) {
        case .full: return false
        case .added: break
        case .addedFirst: eventLoop.execute { self.drainInbox() }
        }
        return true
    }

    private func drainInbox() {
        let events = inbox.withLock { $0.takeAll() }
        for event in events {
            switch event {
            case .submit(let request): submit(request)
            case .cancel(let request): cancel(request)
            case .addObserver(let observer): observe(observer)
            case .removeObserver(let observer): forget(observer)
            }
        }
        flush()
        scheduleExpiry()
    }

    private func submit(_ request: RedisRequest) {
        if case .cancelled = request.progress { return request.resume(.failure(.cancelled)) }
        if case .shutDown = availability { return request.resume(.failure(.closed)) }
        let id = pipeline.submit(
            request,
            wire: request.wire,
            commands: request.commands,
            now: RedisInstant(eventLoop.now)
        )
        guard let id else { return request.resume(.failure(.tooManyCommandsInFlight)) }
        request.progress = .accepted(id)
    }

    private func cancel(_ request: RedisRequest) {
        if case .accepted(let id) = request.progress {
            pipeline.cancel(id)?.resume(.failure(.cancelled))
        }
        request.progress = .cancelled
    }

    private func observe(_ observer: RedisWaiter<Void>) {
        switch availability {
        case .ready: observer.resume(.success(()))
        case .shutDown: observer.resume(.failure(.closed))
        case .awaited(var observers):
            observers[ObjectIdentifier(observer)] = observer
            availability = .awaited(by: observers)
        }
    }

    private func forget(_ observer: RedisWaiter<Void>) {
        guard case .awaited(var observers) = availability else { return }
        observers[ObjectIdentifier(observer)] = nil
        availability = .awaited(by: observers)
    }

    /// Changes the availability and returns the observers that waited for the change.
    private func setAvailability(_ next: Availability) -> [RedisWaiter<Void>] {
        switch (availability, next) {
        case (.shutDown, _): return []
        case (.awaited, .awaited), (.ready, .ready): break
        case (.awaited(let observers), .ready), (.awaited(let observers), .shutDown):
            availability = next
            connected.store(isReady, ordering: .releasing)
            return Array(observers.values)
        case (.ready, .awaited), (.ready, .shutDown):
            availability = next
            connected.store(isReady, ordering: .releasing)
        }
        return []
    }

    private var isReady: Bool { if case .ready = availability { true } else { false } }

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
        guard !isExpiryScheduled, let next = pipeline.nextExpiry else { return }
        let earliest = RedisInstant(eventLoop.now) + Self.expiryInterval
        isExpiryScheduled = true
        eventLoop.scheduleTask(deadline: max(next, earliest).deadline) {
            self.isExpiryScheduled = false
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

    /// Stops writing on this connection and requests another server.
    private func leave(_ failure: RedisLinkFailure) {
        _ = setAvailability(.awaited(by: [:]))
        link.drain(failure)
        report(.wrongServer)
    }

    private func closeIfDrained() {
        if !pipeline.hasWritten { link.closeDrained() }
    }

    /// Fails everything that is not written yet, and every later request.
    private func shutDown() {
        let observers = setAvailability(.shutDown)
        fail(pipeline.close())
        for observer in observers { observer.resume(.failure(.closed)) }
    }

    // MARK: RedisLinkDelegate

    func linkReady() {
        let observers = setAvailability(.ready)
        if let endpoint = link.endpoint { report(.ready(endpoint)) }
        for observer in observers { observer.resume(.success(())) }
        flush()
    }

    func linkReceived(_ value: RedisValue) {
        if case .error(let error) = value, link.isReady, error.code == "READONLY" {
            leave(.readOnly)
        }
        switch pipeline.receive(value) {
        case .accepted: break
        case .complete(let request, let replies): request.resume(.success(replies))
        case .unexpected: return link.close(.codec(.malformed("a reply without a request")))
        }
        if !link.isReady { closeIfDrained() }
    }

    func linkLost(_ failure: RedisLinkFailure) {
        _ = setAvailability(.awaited(by: [:]))
        fail(pipeline.connectionLost(first: failure.commandError))
        reportDown()
    }

    func linkUnreachable() {
        reportDown()
    }

    /// Reports the loss, unless the link was stopped: its owner may have another one to the same
    /// server since.
    private func reportDown() {
        if case .shutDown = availability { return }
        report(.down)
    }

    func linkWritable() {
        flush()
    }

    func linkFinished() {
        shutDown()
    }
}
