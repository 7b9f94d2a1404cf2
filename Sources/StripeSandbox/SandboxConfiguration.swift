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

    /// How long what settles by itself takes: test-mode names, asynchronous charges.
    package var autoDelay: Duration

    /// The pause before the second try of a webhook, doubled before the third.
    package var webhookRetryDelay: Duration

    /// Milliseconds since 1970, for `created` and every recorded time.
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
        webhookRetryDelay: Duration = .seconds(1),
        nowMs: @escaping @Sendable () -> Int64 = SandboxClock.nowMs
    ) {
        self.host = host
        self.port = port
        self.publicURL = publicURL
        self.webhook = webhook
        self.seed = seed
        self.autoDelay = autoDelay
        self.webhookRetryDelay = webhookRetryDelay
        self.nowMs = nowMs
    }
}
