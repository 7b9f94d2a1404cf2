package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// A client of one Redis server, of the master of a Sentinel deployment, or of a Redis Cluster.
///
/// All commands to a server share one connection: commands of many tasks are written together and
/// answered in order. Subscriptions share a second connection, and writes that wait for replicas a
/// third. ``run()`` opens these connections and reconnects until it is stopped. Commands sent
/// without a connection wait for one, up to the command timeout.
///
/// In a Cluster, a command or script goes to the node of its first key (see
/// `RedisCommand.firstKey`), and a command without keys to any one master. The keys of one call
/// must be in one slot; those of a ``pipeline(_:)`` may be in several.
///
/// A class because it is the identity of these connections.
package final class RedisClient: Service {
    private let url: RedisURL
    private let configuration: RedisConfiguration
    /// The event loop of the server's connection; in a Cluster, one of several.
    package let eventLoop: any EventLoop
    let backend: any RedisBackend
    /// The one link for all commands if there is a single server.
    ///
    /// This common case skips the backend.
    private let singleLink: RedisCommandLink?
    private let onConnect: @Sendable (SocketAddress) -> Void
    let logger: Logger
    /// Whether scripts run as functions; see RedisClient+scripts.swift.
    let functionUse = Mutex(RedisFunctionUse())

    /// Makes a client that connects once ``run()`` is called.
    ///
    /// `eventLoopGroup` provides one event loop per server; the default is NIO's shared group.
    /// `onConnect` is called each time a server, or a sentinel, is reached over TCP. It must return
    /// quickly.
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
                eventLoop: eventLoop,
                logger: logger
            )
            self.backend = server
            self.singleLink = server.commands
        }
    }

    /// Keeps the client connected until the task is cancelled or shut down gracefully.
    ///
    /// Call once. It never returns because of a lost connection, and throws only if a TLS file
    /// cannot be used. A graceful shutdown waits for the replies to written commands, at most
    /// ``RedisConfiguration/drainTimeout``; a cancellation fails them with `connectionLost`.
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

    /// Whether commands are sent at once; `false` while any connection is being made, including
    /// that to one node of a Cluster.
    package var isConnected: Bool { backend.isConnected }

    /// Which of the masters are reachable now.
    package var reachability: RedisReachability { backend.reachability }

    /// The reason why the server is unreachable, as text for an operator; `nil` for a Cluster, and
    /// while it is reachable.
    package var failure: String? { singleLink?.failure }

    /// Whether keys are distributed over the nodes of a Redis Cluster.
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

    /// Sends a command and returns its reply; an error reply is thrown as ``RedisError/reply(_:)``.
    ///
    /// In a Cluster it goes to the node of `key`, which is needed only for a command whose first
    /// key cannot be derived. If the server rejects it for a temporary reason, the client retries
    /// for ``RedisConfiguration/refusalRetryTimeout``.
    package func send(
        _ command: RedisCommand,
        key: String? = nil
    ) async throws(RedisError) -> RedisValue {
        if let singleLink {
            let replies = try await singleLink.perform([command]).get()
            // Safe: every command of a batch has a reply.
            guard case .error = replies[0] else { return replies[0] }
            // Safe: every command of a batch has a reply.
            return try await retryOrThrow(RedisBatch([command]), nil, replies)[0]
        }
        // Safe: every command of a batch has a reply.
        return try await perform(RedisBatch([command], key: key))[0]
    }

    /// Sends a write and waits until replicas have it.
    ///
    /// Returns its reply and the number of replicas.
    ///
    /// Uses a separate connection. See ``RedisDurability`` for the guarantee. Only writes of this
    /// call and earlier ones are covered, so a command that wrote nothing is not.
    package func send(
        _ command: RedisCommand,
        key: String? = nil,
        waitFor durability: RedisDurability
    ) async throws(RedisError) -> RedisDurableReply {
        try await performDurably(RedisBatch([command], key: key), durability)
    }

    /// Sends a command to every master and returns their replies, including error replies.
    ///
    /// For commands that have no key and concern each server: `CONFIG`, `INFO`, `SCRIPT`, `DBSIZE`,
    /// `FLUSHDB`. Fails with the first master that does not reply.
    package func sendToMasters(
        _ command: RedisCommand
    ) async throws(RedisError) -> [RedisNodeReply] {
        try await backend.performOnMasters(command).get()
    }

    /// Sends commands as one pipeline, in order, and returns a reply for each; error replies are
    /// returned as ``RedisValue/error(_:)``.
    ///
    /// Not a transaction: commands of other clients may run in between, and after a lost connection
    /// only the first ones may have been executed. In a Cluster the order holds for keys of the
    /// same slot, and after any error other ones may have been executed.
    package func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisValue] {
        if commands.isEmpty { return [] }
        return try await backend.pipeline(commands).get()
    }

    /// Subscribes to channels and patterns; see ``RedisSubscription``.
    ///
    /// Events are buffered from now on, within the limits of ``RedisConfiguration``. In a Cluster,
    /// every node forwards the messages published at any other.
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
        return try durableReply(replies[batch.routedIndex], of: replies)
    }

    /// Returns the reply of an executed write with the number of replicas, the last of `replies`.
    ///
    /// An error of `WAIT` is thrown as ``RedisReplyError/Kind/tooFewReplicas``. Its own kind may be
    /// one of commands that were not executed, such as `BUSY`, and the write was.
    func durableReply(
        _ reply: RedisValue,
        of replies: [RedisValue]
    ) throws(RedisError) -> RedisDurableReply {
        switch replies[replies.count - 1] {
        case .error(let error):
            throw .reply(RedisReplyError(code: "NOREPLICAS", message: "WAIT failed: \(error)"))
        case let replicas: return RedisDurableReply(reply: reply, replicas: replicas.int ?? 0)
        }
    }

    /// Returns the replies of a batch; throws if one up to the routed command is an error.
    func perform(
        _ batch: RedisBatch,
        _ durability: RedisDurability? = nil
    ) async throws(RedisError) -> [RedisValue] {
        let replies = try await backend.perform(batch, durability).get()
        let isRefused = replies.prefix(batch.routedIndex + 1).contains { $0.error != nil }
        return isRefused ? try await retryOrThrow(batch, durability, replies) : replies
    }

    /// Retries temporary errors of a batch and returns the replies; throws the remaining errors.
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

    /// Repeats a batch that was rejected for a temporary reason, until it is executed or the time
    /// is up.
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
            // Short at first, for brief states; longer for a server that needs seconds.
            pause = min(pause * 2, .milliseconds(200))
            replies = try await backend.perform(batch, durability).get()
        }
        return replies
    }
}
