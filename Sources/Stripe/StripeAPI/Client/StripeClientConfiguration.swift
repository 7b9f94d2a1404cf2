#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The settings of a ``StripeClient``.
public struct StripeClientConfiguration: Sendable {
    /// The default limit of a response body: 1 MiB.
    ///
    /// No single object of a payment is that large. A page of 100 objects may be larger, for example of charges with
    /// much metadata: set ``maxBodyBytes`` for such a list.
    public static let defaultMaxBodyBytes = 1 << 20

    /// The API key, sent as `Authorization: Bearer …`.
    public var key: StripeKey { didSet { head = makeHead() } }

    /// The scheme, host and port, without a path.
    ///
    /// A live key requires `https`; see ``StripeKey/maySend(to:)``.
    public var baseURL: String { didSet { head = makeHead() } }

    /// The account to act for.
    ///
    /// With a normal key this is a connected account, sent as `Stripe-Account`. With an organisation key
    /// (``StripeKey/isOrganization``) it is an account of the organisation, sent as `Stripe-Context`;
    /// `acct_platform/acct_connected` is also valid there.
    public var account: String? { didSet { head = makeHead() } }

    /// The API version, sent as `Stripe-Version`; see ``StripeVersion/pinned``.
    public var version: String { didSet { head = makeHead() } }

    /// The shared part of every request, rebuilt when one of the fields above changes rather than for every request.
    private(set) var head: RequestHead

    /// The timeout of one attempt, from connecting to the last byte of the body.
    ///
    /// The default is 80 s, as in the official SDKs. A poller passes a shorter timeout with each call.
    public var timeout: Duration

    /// The maximum size of a response body in bytes.
    public var maxBodyBytes: Int

    /// The retry policy of typed calls; raw calls are never retried.
    public var retry: StripeRetryPolicy

    /// The clock that measures the delays between attempts.
    public var clock: any Clock<Duration>

    /// Generates the `Idempotency-Key` of a POST without one; the default is a random UUID.
    public var makeIdempotencyKey: @Sendable () -> String

    /// Generates the jitter of a delay, from 0 up to 1; random by default.
    public var makeJitter: @Sendable () -> Double

    /// Creates a configuration with Stripe's address and the default values.
    public init(
        key: StripeKey,
        baseURL: String = "https://api.stripe.com",
        account: String? = nil,
        version: String = StripeVersion.pinned,
        timeout: Duration = .seconds(80),
        maxBodyBytes: Int = StripeClientConfiguration.defaultMaxBodyBytes,
        retry: StripeRetryPolicy = StripeRetryPolicy(),
        clock: any Clock<Duration> = ContinuousClock(),
        makeIdempotencyKey: (@Sendable () -> String)? = nil,
        makeJitter: (@Sendable () -> Double)? = nil
    ) {
        precondition(maxBodyBytes > 0, "maxBodyBytes must be positive")
        self.key = key
        var base = baseURL
        while base.hasSuffix("/") { base.removeLast() }
        self.baseURL = base
        self.account = account
        self.version = version
        head = RequestHead(key: key, version: version, account: account, baseURL: base)
        self.timeout = timeout
        self.maxBodyBytes = maxBodyBytes
        self.retry = retry
        self.clock = clock
        self.makeIdempotencyKey = makeIdempotencyKey ?? { UUID().uuidString }
        self.makeJitter = makeJitter ?? { Double.random(in: 0..<1) }
    }

    private func makeHead() -> RequestHead {
        RequestHead(key: key, version: version, account: account, baseURL: baseURL)
    }
}

/// The pinned API version.
public enum StripeVersion {
    /// The version this library was written for.
    ///
    /// It is the newest version supported by the official SDK `stripe-python` 16.1.0. Pinning it keeps an account's
    /// default version from changing the shape of the responses.
    public static let pinned = "2026-10-28.endive"
}
