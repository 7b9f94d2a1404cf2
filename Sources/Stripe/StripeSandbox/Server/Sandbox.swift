import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import PollerHTTP
import SafeNumbers
import ServiceLifecycle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A stateful imitation of Stripe's API that allows running everything offline.
///
/// *Why*: Stripe's test mode needs the network and a key, allows 25 requests per second, and cannot lose a webhook,
/// hang in the middle of a body or skip six hours. Tests of a poller need all of that, and the official client
/// libraries must not notice a difference. Errors, headers, idempotency, lists and test data therefore follow
/// Stripe's documentation, and stripe-python is tested against the sandbox.
///
/// *How*: ``SandboxResponder`` converts HTTP to a call, ``SandboxStore`` holds the only lock, ``SandboxState``
/// changes plain values and collects webhooks, and ``WebhookSender`` sends them. No code under the lock waits or
/// reads a clock, so each request is atomic, and the same seed with the same requests produces the same IDs.
///
/// *Not supported*: balances, payouts, invoices, Checkout, custom tokens, Connect beyond `Stripe-Account`. With a
/// ``SandboxStateFile`` a restart keeps objects, events, idempotency keys and timers, but not logs and test settings.
///
/// The API is under `/v1`, customer pages are under `/redirect/{id}`, `/pay/{id}` and `/verify/{id}`, and the test
/// controls under `/_sandbox`; ``SandboxResponder/respondControl(_:_:)`` lists them.
///
/// *Cost*: one core serves about 28,000 GETs of a Source per second (optimised, `wrk` with 64 connections,
/// 2026-11-21), enough for benchmarks.
package struct Sandbox: Service {
    /// The maximum time that a connection may be idle or have an incomplete head.
    private static let idleTimeout = TimeAmount.seconds(75)

    private let configuration: SandboxConfiguration
    private let store: SandboxStore
    private let posts: AsyncStream<WebhookPost>
    private let stateWriter: StateWriter?
    private let logger: Logger
    private let onListening: @Sendable (Int) -> Void

    /// Creates a sandbox.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - logger: Receives very few messages; requests are not logged but stored for `/_sandbox/requests`.
    ///   - onListening: Called once with the port when the server accepts requests.
    /// - Throws: An error if the state file cannot be read; the file is not changed.
    package init(
        configuration: SandboxConfiguration,
        logger: Logger,
        onListening: @escaping @Sendable (Int) -> Void
    ) throws(SandboxStateFile.Unusable) {
        let continuation: AsyncStream<WebhookPost>.Continuation
        (posts, continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(SandboxState.deliveriesMax)
        )
        let (changes, changed) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        var random = SystemRandomNumberGenerator()
        let store = SandboxStore(
            configuration: configuration,
            savedState: try configuration.state?.read(),
            seed: configuration.seed ?? random.next(),
            posts: continuation,
            changed: changed
        )
        stateWriter = configuration.state.map { file in
            StateWriter(store: store, file: file, changes: changes, logger: logger)
        }
        self.store = store
        self.configuration = configuration
        self.logger = logger
        self.onListening = onListening
    }

    /// Runs until the task is cancelled or a graceful shutdown begins; can be called once.
    package func run() async throws {
        defer { store.close() }
        // Services stop in reverse order, so the state is written last.
        var services: [any Service] = stateWriter.map { [$0] } ?? []
        services.append(WebhookSender(store: store, posts: posts, logger: logger))
        let application = Application(
            responder: SandboxResponder(
                store: store,
                hosts: SandboxHosts(
                    bind: configuration.host,
                    publicURL: configuration.publicURL,
                    allowed: configuration.allowedHosts
                )
            ),
            server: HTTPServerBuilder { [bodyTimeout = configuration.bodyTimeout] responder in
                SandboxConnection(
                    inner: HTTP1Channel(
                        responder: responder,
                        configuration: .init(
                            additionalChannelHandlers: [RequestDeadline.RequestObserver()],
                            idleTimeout: Self.idleTimeout
                        )
                    ),
                    bodyTimeout: bodyTimeout
                )
            },
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                backlog: 1024
            ),
            services: services,
            onServerRunning: { [onListening] channel in
                onListening(channel.localAddress?.port ?? 0)
            },
            logger: logger
        )
        try await application.run()
    }

    /// Runs a sandbox during `body`.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - body: Receives the address, for example `http://127.0.0.1:40123`.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or the reason why the sandbox could not start.
    package static func withRunning<Value: Sendable>(
        _ configuration: SandboxConfiguration = SandboxConfiguration(),
        _ body: @escaping @Sendable (String) async throws -> Value
    ) async throws -> Value {
        var logger = Logger(label: "stripe-sandbox")
        logger.logLevel = .critical
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let sandbox = try Sandbox(configuration: configuration, logger: logger) { port in
            listening.yield(port)
        }
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

/// The settings of a sandbox.
package struct SandboxConfiguration: Sendable {
    /// The address to listen on.
    package var host: String

    /// The port to listen on; 0 picks a free one.
    package var port: Int

    /// The address used in redirect URLs; `nil` uses the `Host` of the request that created the object.
    package var publicURL: String?

    /// Additional host names the sandbox is served under (``SandboxHosts``).
    package var allowedHosts: [String]

    /// A webhook endpoint that exists from the start.
    package var webhook: Webhook?

    /// The seed that makes all IDs repeatable; `nil` uses a random seed.
    package var seed: UInt64?

    /// The delay of automatic changes (test-mode names, asynchronous charges), in sandbox time.
    package var autoDelay: Duration

    /// The maximum number of attempts per webhook; 3 as in Stripe's sandboxes.
    package var webhookTries: Int

    /// The delay before the second attempt of a webhook, doubled for each further one; in sandbox time.
    package var webhookRetryDelay: Duration

    /// The number of sandbox seconds per second; with 3600 an hour passes in one second.
    package var timeScale: Double

    /// The request limits; none by default.
    package var limits: SandboxLimits

    /// The file that keeps the state across restarts; `nil` keeps nothing.
    package var state: SandboxStateFile?

    /// The maximum time for receiving a request body, in machine time.
    package var bodyTimeout: Duration

    /// The machine time in milliseconds since 1970: the start of sandbox time, and the time of the logs.
    package var nowMs: @Sendable () -> Int64

    /// A webhook endpoint.
    package struct Webhook: Sendable {
        /// The URL that receives the events.
        package var url: String

        /// The signing secret.
        package var secret: String

        package init(url: String, secret: String) {
            self.url = url
            self.secret = secret
        }
    }

    /// Creates a configuration with the default values: a free loopback port and a delay of 1 s for automatic
    /// changes.
    package init(
        host: String = "127.0.0.1",
        port: Int = 0,
        publicURL: String? = nil,
        allowedHosts: [String] = [],
        webhook: Webhook? = nil,
        seed: UInt64? = nil,
        autoDelay: Duration = .seconds(1),
        webhookTries: Int = 3,
        webhookRetryDelay: Duration = .seconds(1),
        timeScale: Double = 1,
        limits: SandboxLimits = .none,
        state: SandboxStateFile? = nil,
        bodyTimeout: Duration = .seconds(30),
        nowMs: @escaping @Sendable () -> Int64 = SandboxClock.nowMs
    ) {
        precondition(timeScale > 0, "timeScale must be positive")
        precondition(webhookTries > 0, "webhookTries must be at least 1")
        self.host = host
        self.port = port
        self.publicURL = publicURL
        self.allowedHosts = allowedHosts
        self.webhook = webhook
        self.seed = seed
        self.autoDelay = autoDelay
        self.webhookTries = webhookTries
        self.webhookRetryDelay = webhookRetryDelay
        self.timeScale = timeScale
        self.limits = limits
        self.state = state
        self.bodyTimeout = bodyTimeout
        self.nowMs = nowMs
    }
}

/// The machine's clock, the default of a sandbox.
package enum SandboxClock {
    /// Returns the time in milliseconds since 1970.
    package static func nowMs() -> Int64 {
        Int64(saturating: Date().timeIntervalSince1970 * 1000)
    }
}
