package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// A client of one Redis server, of the master that sentinels name, or of a Redis Cluster.
///
/// All commands to a server share one connection: commands of many tasks are written together and
/// answered in order. Subscriptions share another one, and writes that wait for replicas a third.
/// They are made and kept by ``run()``, which reconnects for ever; what is sent meanwhile waits for
/// the connection up to the command timeout.
///
/// In a Cluster a command goes to the node of its first key (see `RedisCommand.firstKey`), a script
/// to that of its first key, and a command without keys to any one master. A call never has keys of
/// several slots, but a ``pipeline(_:)`` may.
///
/// A class because it is the identity of these connections.
package final class RedisClient: Service {
    private let url: RedisURL
    private let configuration: RedisConfiguration
    /// The loop of the connection to its server; in a Cluster one of them.
    package let eventLoop: any EventLoop
    let backend: any RedisBackend
    /// The one link for all commands, if there is one server: the common case takes the short way.
    private let singleLink: RedisCommandLink?
    private let changes = RedisMasterChanges()
    private let onConnect: @Sendable (SocketAddress) -> Void
    let logger: Logger
    /// Whether scripts run as functions; RedisClient+scripts.swift.
    let functionUse = Mutex(RedisFunctionUse())

    /// Makes a client that connects once ``run()`` is called.
    ///
    /// `eventLoopGroup` is where its event loops come from, one for each server; the default shares
    /// NIO's own. `onConnect` hears of every server that is reached over TCP, sentinels too, each time
    /// and soon.
    package init(
        url: RedisURL,
        configuration: RedisConfiguration = RedisConfiguration(),
        logger: Logger,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        onConnect: @escaping @Sendable (SocketAddress) -> Void = { _ in }
    ) {
        self.onConnect = onConnect
        var logger = logger
        logger[metadataKey: "redis.url"] = "\(url)"
        self.url = url
        self.configuration = configuration
        self.logger = logger
        if case .cluster = url.target {
            let cluster = RedisCluster(
                url: url,
                configuration: configuration,
                changes: changes,
                group: eventLoopGroup,
                logger: logger
            )
            self.eventLoop = cluster.eventLoop
            self.backend = cluster
            self.singleLink = nil
        } else {
            self.eventLoop = eventLoopGroup.next()
            let server = RedisSingleServer(
                url: url,
                configuration: configuration,
                changes: changes,
                eventLoop: eventLoop,
                logger: logger
            )
            self.backend = server
            self.singleLink = server.commands
        }
    }

    /// Keeps the client connected until the task is cancelled or shut down gracefully.
    ///
    /// Call once. Never returns because of a connection; throws singleLink if a TLS file cannot be used. On
    /// graceful shutdown, written commands are answered first; on cancellation they fail as lost.
    package func run() async throws {
        let connector = try RedisConnector(
            url: url,
            configuration: configuration,
            onConnect: onConnect
        )
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await backend.run(connector)
            } onGracefulShutdown: {
                self.backend.stop(graceful: true)
            }
        } onCancel: {
            backend.stop(graceful: false)
        }
    }

    /// Whether commands are sent at once; `false` while connecting, also to one node of a Cluster.
    package var isConnected: Bool { backend.isConnected }

    /// Which of the servers that are written to can be reached now.
    package var reachability: RedisReachability { backend.reachability }

    /// Why the one server cannot be reached now, in words for an operator; nil of several servers, and
    /// while it can be.
    package var failure: String? { singleLink?.failure }

    /// Whether keys are spread over the nodes of a Redis Cluster.
    package var isCluster: Bool { singleLink == nil }

    /// Waits for the connection, at most `timeout`.
    ///
    /// Throws ``RedisError/notConnected`` after the timeout, ``RedisError/cancelled`` or
    /// ``RedisError/closed``.
    package func waitUntilConnected(timeout: Duration) async throws(RedisError) {
        let observer = RedisWaiter<Void>()
        backend.add(observer)
        defer { backend.remove(observer) }
        try await observer.wait(timeout: timeout, on: eventLoop).get()
    }

    /// Whenever another server is written to than before; the stream ends with the client.
    ///
    /// Told once the new server is known: after sentinels' or a Cluster's failover, and when slots
    /// have moved. One server alone is always the same.
    package var masterChanges: AsyncStream<RedisMasterChange> { changes.subscribe() }

    /// Sends a command and returns its reply; an error reply is thrown as ``RedisError/reply(_:)``.
    ///
    /// In a Cluster it goes to the node of `key`, which is singleLink needed for a command whose first key
    /// cannot be known. A reply that refuses it for a passing reason makes the client repeat it for
    /// ``RedisConfiguration/refusalRetryTimeout``.
    package func send(
        _ command: RedisCommand,
        key: String? = nil
    ) async throws(RedisError) -> RedisValue {
        if let singleLink {
            let replies = try await singleLink.perform([command]).get()
            // Safe: each command of a unit has a reply.
            guard case .error = replies[0] else { return replies[0] }
            // Safe: each command of a unit has a reply.
            return try await retryOrThrow(RedisBatch([command]), nil, replies)[0]
        }
        // Safe: each command of a unit has a reply.
        return try await perform(RedisBatch([command], key: key))[0]
    }

    /// Sends a write and waits until replicas have it; what it replied, and how many have it.
    ///
    /// Uses a connection of its own. See ``RedisDurability`` for what that promises. A command that
    /// wrote nothing is not waited for: singleLink writes of this call and earlier ones are covered.
    package func send(
        _ command: RedisCommand,
        key: String? = nil,
        waitFor durability: RedisDurability
    ) async throws(RedisError) -> RedisDurableReply {
        try await performDurably(RedisBatch([command], key: key), durability)
    }

    /// Sends a command to every master and returns their replies, error replies in place.
    ///
    /// For what has no key and concerns each server: `CONFIG`, `INFO`, `SCRIPT`, `DBSIZE`, `FLUSHDB`.
    /// Fails with the first master that does not answer.
    package func sendToMasters(
        _ command: RedisCommand
    ) async throws(RedisError) -> [RedisNodeReply] {
        try await backend.performOnMasters(command).get()
    }

    /// Sends commands in one go, in order, and returns as many replies; error replies stay in place
    /// as ``RedisValue/error(_:)``.
    ///
    /// Not a transaction: other clients' commands may come in between, and a lost connection may
    /// leave the first of them executed. In a Cluster the order holds for keys of the same slot.
    package func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisValue] {
        if commands.isEmpty { return [] }
        return try await backend.pipeline(commands).get()
    }

    /// Listens to channels and patterns; see ``RedisSubscription``.
    ///
    /// Events are kept from now on, within the limits of ``RedisConfiguration``. In a Cluster any
    /// node passes on what is published at any other.
    package func subscribe(channels: [String], patterns: [String] = []) -> RedisSubscription {
        let topics =
            channels.map { RedisTopic.channel($0) } + patterns.map { RedisTopic.pattern($0) }
        precondition(!topics.isEmpty, "a subscription needs a channel or a pattern")
        return backend.subscribe(Set(topics))
    }

    // MARK: Helpers

    func performDurably(
        _ batch: RedisBatch,
        _ durability: RedisDurability
    ) async throws(RedisError) -> RedisDurableReply {
        let replies = try await perform(batch, durability)
        if case .error(let error) = replies[replies.count - 1] { throw .reply(error) }
        return RedisDurableReply(
            reply: replies[batch.routedIndex],
            replicas: replies[replies.count - 1].int ?? 0
        )
    }

    /// The replies of a batch, none of which is an error up to the routedIndex one.
    func perform(
        _ batch: RedisBatch,
        _ durability: RedisDurability? = nil
    ) async throws(RedisError) -> [RedisValue] {
        let replies = try await backend.perform(batch, durability).get()
        let isRefused = replies.prefix(batch.routedIndex + 1).contains { $0.error != nil }
        return isRefused ? try await retryOrThrow(batch, durability, replies) : replies
    }

    /// The replies of a batch once its errors have passed; throws those that do not.
    private func retryOrThrow(
        _ batch: RedisBatch,
        _ durability: RedisDurability?,
        _ refused: [RedisValue]
    ) async throws(RedisError) -> [RedisValue] {
        let replies = try await retryRefused(batch, durability, refused)
        for index in 0...batch.routedIndex {
            if case .error(let error) = replies[index] { throw .reply(error) }
        }
        return replies
    }

    /// Repeats what was refused for a passing reason, until it is executed or patience ends.
    func retryRefused(
        _ batch: RedisBatch,
        _ durability: RedisDurability?,
        _ refused: [RedisValue]
    ) async throws(RedisError) -> [RedisValue] {
        var replies = refused
        let deadline = RedisInstant(.now()) + configuration.refusalRetryTimeout
        var pause = Duration.milliseconds(10)
        while case .error(let error) = replies[batch.routedIndex], RedisInstant(.now()) < deadline,
            error.kind.isTransient || (error.kind == .readOnly && backend.findsMasters)
        {
            guard (try? await Task.sleep(for: pause)) != nil else { throw .cancelled }
            // Quick for what passes at once, easy on a server that needs seconds.
            pause = min(pause * 2, .milliseconds(200))
            replies = try await backend.perform(batch, durability).get()
        }
        return replies
    }
}
