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

/// A stateful look-alike of Stripe's API, complete enough to run everything offline.
///
/// *Why*: Stripe's own test mode needs the network and a key, allows 25 requests a second, and cannot be told to
/// lose a webhook, hang in the middle of a body or let six hours pass. Tests of a poller need all of that, and the
/// official client libraries must not notice a difference: errors, headers, idempotency, lists and test data follow
/// Stripe's documentation, and stripe-python is run against it.
///
/// *How*: ``SandboxResponder`` turns HTTP into a call, ``SandboxStore`` takes the one lock, ``SandboxState`` changes plain
/// values and leaves behind what is to be posted, ``WebhookSender`` posts it. Nothing below the lock waits or reads a
/// clock, so each request is atomic, and one seed with one sequence of requests makes the same ids again.
///
/// *Not here*: balances, payouts, invoices, Checkout, tokens of one's own, Connect beyond `Stripe-Account`. Over a restart objects, events, idempotency keys and
/// what happens later are kept where there is a ``SandboxStateFile``; logs and what tests have asked for are not.
///
/// The API is under `/v1`, pages a customer can click under `/redirect/{id}`, `/pay/{id}` and `/verify/{id}`, and
/// the controls of tests under `/_sandbox`; ``SandboxResponder/respondControl(_:_:)`` lists those.
///
/// *Cost*: one core answers some 28,000 GETs of a source a second (optimised, `wrk` with 64 connections, 2026-11-21);
/// benchmarks may lean on it.
package struct Sandbox: Service {
    /// The longest time that a connection has no request, or an incomplete head.
    private static let idleTimeout = TimeAmount.seconds(75)

    private let configuration: SandboxConfiguration
    private let store: SandboxStore
    private let posts: AsyncStream<WebhookPost>
    private let stateWriter: StateWriter?
    private let logger: Logger
    private let onListening: @Sendable (Int) -> Void

    /// Prepares a sandbox.
    ///
    /// - Parameters:
    ///   - configuration: Where and how it runs.
    ///   - logger: Gets very little; requests are not logged but kept for `/_sandbox/requests`.
    ///   - onListening: Called once with the port when requests are accepted.
    /// - Throws: when what was kept cannot be read; it is left as it is.
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

    /// Serves until the task is cancelled or a graceful shutdown begins; once.
    package func run() async throws {
        defer { store.close() }
        // The last of them ends first: what has changed until then is kept.
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
                            additionalChannelHandlers: [RequestDeadline.Heads()],
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

/// How a sandbox runs.
package struct SandboxConfiguration: Sendable {
    /// The address to listen on.
    package var host: String

    /// The port to listen on; 0 picks a free one.
    package var port: Int

    /// The address written into redirect URLs; nil takes the `Host` of the request that created the object.
    package var publicURL: String?

    /// Names under which it is served besides its own (``SandboxHosts``).
    package var allowedHosts: [String]

    /// A webhook endpoint that exists from the start, and its `whsec_…` secret.
    package var webhook: Webhook?

    /// Makes every id repeatable; nil picks a random seed.
    package var seed: UInt64?

    /// How long what settles by itself takes: test-mode names, asynchronous charges; in sandbox time.
    package var autoDelay: Duration

    /// How often a webhook is tried in all: 3 as in Stripe's sandboxes.
    package var webhookTries: Int

    /// The pause before the second try of a webhook, doubled before each further one; in sandbox time.
    package var webhookRetryDelay: Duration

    /// Sandbox seconds per second: 3600 lets an hour pass in a second.
    package var timeScale: Double

    /// The rates and numbers of requests Stripe allows; without limits unless given.
    package var limits: SandboxLimits

    /// Where it keeps what it knows over a restart; nil keeps nothing.
    package var state: SandboxStateFile?

    /// How long the body of a request may take; in the machine's time.
    package var bodyTimeout: Duration

    /// The machine's time, milliseconds since 1970: the start of sandbox time, and what the logs are dated with.
    package var nowMs: @Sendable () -> Int64

    /// A webhook endpoint.
    package struct Webhook: Sendable {
        /// Where events are posted.
        package var url: String

        /// What they are signed with.
        package var secret: String

        /// Describes an endpoint.
        package init(url: String, secret: String) {
            self.url = url
            self.secret = secret
        }
    }

    /// Starts from the documented defaults: a free loopback port, 1 s for what settles by itself.
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
        precondition(timeScale > 0, "time goes forward")
        precondition(webhookTries > 0, "a webhook is tried at least once")
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

/// The machine's clock, for a sandbox that nobody gave another.
package enum SandboxClock {
    /// Milliseconds since 1970.
    package static func nowMs() -> Int64 {
        Int64(saturating: Date().timeIntervalSince1970 * 1000)
    }
}
