import Logging
import NIOCore
import Synchronization

/// The connections that carry commands to one server: a shared one, and one for durable writes that
/// opens with the first of them.
///
/// A class because it is the identity of these connections.
final class RedisNode: Sendable {
    private enum Phase {
        case idle
        case running(RedisConnector, any RedisLocator)
        case stopped
    }

    /// The state of the connection for durable writes.
    private enum Durable {
        case unused
        /// Opened as soon as the node is started.
        case wanted
        case started
    }

    /// The state behind the lock: the connections of the node and their progress.
    private struct State {
        var phase = Phase.idle
        var durable = Durable.unused
        var ends: [EventLoopFuture<Void>] = []
    }

    let shared: RedisCommandLink
    private let durableLink: RedisCommandLink
    private let durable: RedisDurableWrites
    private let eventLoop: any EventLoop
    private let state = Mutex(State())

    /// Makes the links; `report` is called for the shared one, on its event loop.
    init(
        handshake: RedisHandshake,
        configuration: RedisConfiguration,
        eventLoop: any EventLoop,
        logger: Logger,
        report: @escaping @Sendable (RedisLinkEvent) -> Void
    ) {
        func link(_ role: String) -> RedisLink {
            RedisLink(
                handshake: handshake,
                configuration: configuration,
                role: role,
                eventLoop: eventLoop,
                logger: logger
            )
        }
        self.eventLoop = eventLoop
        self.shared = RedisCommandLink(
            link: link(RedisLink.commandRole),
            configuration: configuration,
            eventLoop: eventLoop,
            report: report
        )
        self.durableLink = RedisCommandLink(
            link: link("durable commands"),
            configuration: configuration,
            eventLoop: eventLoop
        )
        self.durable = RedisDurableWrites(
            link: durableLink,
            configuration: configuration,
            eventLoop: eventLoop
        )
    }

    /// Connects.
    func start(_ connector: RedisConnector, locator: any RedisLocator) {
        let (isFirst, startsDurable) = state.withLock { state in
            guard case .idle = state.phase else { return (false, false) }
            state.phase = .running(connector, locator)
            return (true, state.durable == .wanted)
        }
        guard isFirst else { return }
        start(shared, connector, locator)
        if startsDurable { startDurable() }
    }

    /// Ends permanently; if `graceful`, after written commands have their replies.
    ///
    /// Commands that were not written fail as ``RedisError/closed``.
    func stop(graceful: Bool) {
        state.withLock { $0.phase = .stopped }
        shared.stop(graceful: graceful)
        durableLink.stop(graceful: graceful)
    }

    /// Succeeds once every connection has ended; read it after ``stop(graceful:)``.
    var ended: EventLoopFuture<Void> {
        .andAllComplete(state.withLock { $0.ends }, on: eventLoop)
    }

    /// Performs commands; with `durability` the last reply is the number of replicas.
    func perform(
        _ commands: [RedisCommand],
        _ durability: RedisDurability?
    ) async -> RedisRequest.Outcome {
        guard let durability else { return await shared.perform(commands) }
        startDurable()
        return await durable.perform(commands, durability)
    }

    /// Leaves the server if it is not `endpoint`.
    func relocate(to endpoint: RedisEndpoint) {
        shared.relocate(to: endpoint)
        durableLink.relocate(to: endpoint)
    }

    private func startDurable() {
        let start = state.withLock { state in
            guard state.durable != .started else {
                return nil as (RedisConnector, any RedisLocator)?
            }
            state.durable = .wanted
            guard case .running(let connector, let locator) = state.phase else { return nil }
            state.durable = .started
            return (connector, locator)
        }
        if let start { self.start(durableLink, start.0, start.1) }
    }

    private func start(
        _ link: RedisCommandLink,
        _ connector: RedisConnector,
        _ locator: any RedisLocator
    ) {
        let end = eventLoop.makePromise(of: Void.self)
        state.withLock { $0.ends.append(end.futureResult) }
        link.start(connector, locator: locator, finished: end)
    }
}
