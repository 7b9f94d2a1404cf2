import Hummingbird
package import Logging
import NIOCore
import ServiceLifecycle

/// A stateful look-alike of Stripe's API, complete enough to run everything offline.
///
/// The API is under `/v1`, pages a customer can click under `/redirect/{id}`, `/pay/{id}` and `/verify/{id}`, and
/// the controls of tests under `/_sandbox`; ``SandboxResponder/respondControl(_:_:)`` lists those.
///
/// *Cost*: one core answers some 28,000 GETs of a source a second (optimised, `wrk` with 64 connections, 2026-11-21);
/// benchmarks may lean on it.
package struct Sandbox: Service {
    private let configuration: SandboxConfiguration
    private let logger: Logger
    private let onListening: @Sendable (Int) -> Void

    /// Prepares a sandbox.
    ///
    /// - Parameters:
    ///   - configuration: Where and how it runs.
    ///   - logger: Gets very little; requests are not logged but kept for `/_sandbox/requests`.
    ///   - onListening: Called once with the port when requests are accepted.
    package init(
        configuration: SandboxConfiguration,
        logger: Logger,
        onListening: @escaping @Sendable (Int) -> Void
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until the task is cancelled or a graceful shutdown begins.
    package func run() async throws {
        let (posts, continuation) = AsyncStream.makeStream(
            of: WebhookPost.self,
            bufferingPolicy: .bufferingOldest(SandboxState.deliveriesMax)
        )
        var chance = SystemRandomNumberGenerator()
        let store = SandboxStore(
            configuration: configuration,
            seed: configuration.seed ?? chance.next(),
            posts: continuation
        )
        defer { store.close() }
        let application = Application(
            responder: SandboxResponder(store: store),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                backlog: 1024
            ),
            services: [WebhookSender(store: store, posts: posts, logger: logger)],
            onServerRunning: { [onListening] channel in
                onListening(channel.localAddress?.port ?? 0)
            },
            logger: logger
        )
        try await application.run()
    }

    /// Runs a sandbox for the duration of `body`.
    ///
    /// - Parameters:
    ///   - configuration: Where and how it runs.
    ///   - body: Gets the address, as `http://127.0.0.1:40123`.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, or why the sandbox could not start.
    package static func withRunning<Value: Sendable>(
        _ configuration: SandboxConfiguration = SandboxConfiguration(),
        _ body: @escaping @Sendable (String) async throws -> Value
    ) async throws -> Value {
        var logger = Logger(label: "stripe-sandbox")
        logger.logLevel = .critical
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let sandbox = Sandbox(configuration: configuration, logger: logger) { listening.yield($0) }
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                defer { listening.finish() }
                try await sandbox.run()
                return nil
            }
            group.addTask {
                var iterator = ports.makeAsyncIterator()
                guard let port = await iterator.next() else { return nil }
                return try await body("http://\(configuration.host):\(port)")
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }
}
