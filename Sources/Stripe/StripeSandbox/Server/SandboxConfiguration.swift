/// How a sandbox runs.
package struct SandboxConfiguration: Sendable {
    /// The address to listen on.
    package var host: String

    /// The port to listen on; 0 picks a free one.
    package var port: Int

    /// The address written into redirect URLs; nil takes the `Host` of the request that created the object.
    package var publicURL: String?

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
        webhook: Webhook? = nil,
        seed: UInt64? = nil,
        autoDelay: Duration = .seconds(1),
        webhookTries: Int = 3,
        webhookRetryDelay: Duration = .seconds(1),
        timeScale: Double = 1,
        limits: SandboxLimits = .none,
        nowMs: @escaping @Sendable () -> Int64 = SandboxClock.nowMs
    ) {
        precondition(timeScale > 0, "time goes forward")
        precondition(webhookTries > 0, "a webhook is tried at least once")
        self.host = host
        self.port = port
        self.publicURL = publicURL
        self.webhook = webhook
        self.seed = seed
        self.autoDelay = autoDelay
        self.webhookTries = webhookTries
        self.webhookRetryDelay = webhookRetryDelay
        self.timeScale = timeScale
        self.limits = limits
        self.nowMs = nowMs
    }
}
