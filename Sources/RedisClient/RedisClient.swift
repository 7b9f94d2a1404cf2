package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle

/// A client of one Redis server.
///
/// All commands share one connection: commands of many tasks are written together and answered in
/// order. Subscriptions share a second one. Both are made and kept by ``run()``, which reconnects
/// for ever; what is sent meanwhile waits for the connection up to the command timeout.
///
/// A class because it is the identity of these connections.
package final class RedisClient: Service {
    private let url: RedisURL
    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let commands: RedisCommandLink
    private let subscriptions: RedisPubSubLink

    /// Makes a client that connects once ``run()`` is called.
    ///
    /// `eventLoopGroup` is where its one event loop comes from; the default shares NIO's own.
    package init(
        url: RedisURL,
        configuration: RedisConfiguration = RedisConfiguration(),
        logger: Logger,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        let eventLoop = eventLoopGroup.next()
        func link(_ role: String) -> RedisLink {
            RedisLink(
                url: url,
                configuration: configuration,
                role: role,
                eventLoop: eventLoop,
                logger: logger
            )
        }
        self.url = url
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.commands = RedisCommandLink(
            link: link("commands"),
            configuration: configuration,
            eventLoop: eventLoop
        )
        self.subscriptions = RedisPubSubLink(
            link: link("subscriptions"),
            configuration: configuration,
            eventLoop: eventLoop,
            logger: logger
        )
    }

    /// Keeps the client connected until the task is cancelled or shut down gracefully.
    ///
    /// Call once. Never returns because of a connection; throws only if a file named by
    /// ``RedisTLSConfiguration`` cannot be used. On graceful shutdown, written commands are answered
    /// first; on cancellation they fail as lost.
    package func run() async throws {
        let connector = try RedisConnector(url: url, configuration: configuration)
        let ends = [eventLoop.makePromise(of: Void.self), eventLoop.makePromise(of: Void.self)]
        try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                commands.start(connector, finished: ends[0])
                subscriptions.start(connector, finished: ends[1])
                for end in ends { try await end.futureResult.get() }
            } onGracefulShutdown: {
                self.commands.stop(graceful: true)
                self.subscriptions.stop()
            }
        } onCancel: {
            commands.stop(graceful: false)
            subscriptions.stop()
        }
    }

    /// Whether commands are sent at once; `false` while connecting.
    package var isConnected: Bool { commands.isConnected }

    /// Waits for the connection, at most `timeout`.
    ///
    /// Throws ``RedisError/notConnected`` after the timeout, ``RedisError/cancelled`` or
    /// ``RedisError/closed``.
    package func waitUntilConnected(timeout: Duration) async throws(RedisError) {
        let observer = RedisConnectionObserver()
        let timer = eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            observer.resume(.failure(.notConnected))
        }
        defer {
            timer.cancel()
            commands.remove(observer)
        }
        commands.add(observer)
        let outcome = await withTaskCancellationHandler {
            await observer.wait()
        } onCancel: {
            observer.resume(.failure(.cancelled))
        }
        try outcome.get()
    }

    /// Sends a command and returns its reply; an error reply is thrown as ``RedisError/reply(_:)``.
    package func send(_ command: RedisCommand) async throws(RedisError) -> RedisValue {
        let replies = try await commands.perform([command]).get()
        if case .error(let error) = replies[0] { throw .reply(error) }
        return replies[0]
    }

    /// Sends commands in one go, in order, and returns as many replies; error replies stay in place
    /// as ``RedisValue/error(_:)``.
    ///
    /// Not a transaction: other clients' commands may come in between, and a lost connection may
    /// leave the first of them executed.
    package func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisValue] {
        if commands.isEmpty { return [] }
        return try await self.commands.perform(commands).get()
    }

    /// Runs a script by its digest, loading it if the server does not know it.
    ///
    /// A server forgets scripts on restart, failover and `SCRIPT FLUSH`; it then answers `NOSCRIPT`
    /// without having run anything, so loading and repeating is safe. This happens once.
    package func eval(
        _ script: RedisScript,
        keys: [String],
        arguments: [RedisArgument] = []
    ) async throws(RedisError) -> RedisValue {
        let evaluation = RedisCommand(
            "EVALSHA",
            [.string(script.sha1), RedisArgument(keys.count)] + keys.map { .string($0) }
                + arguments
        )
        do throws(RedisError) {
            return try await send(evaluation)
        } catch .reply(let error) where error.code == "NOSCRIPT" {
            let load = RedisCommand("SCRIPT", ["LOAD", .string(script.source)])
            let replies = try await pipeline([load, evaluation])
            for reply in replies {
                if case .error(let error) = reply { throw .reply(error) }
            }
            return replies[1]
        }
    }

    /// Listens to channels and patterns; see ``RedisSubscription``.
    ///
    /// Events are kept from now on, within the limits of ``RedisConfiguration``.
    package func subscribe(channels: [String], patterns: [String] = []) -> RedisSubscription {
        let topics =
            channels.map { RedisTopic.channel($0) } + patterns.map { RedisTopic.pattern($0) }
        precondition(!topics.isEmpty, "a subscription needs a channel or a pattern")
        return subscriptions.subscribe(Set(topics))
    }
}
