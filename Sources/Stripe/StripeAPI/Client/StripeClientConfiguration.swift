#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a ``StripeClient`` reaches the API.
public struct StripeClientConfiguration: Sendable {
    /// The largest response accepted by default: 1 MiB.
    ///
    /// The largest object we read, a page of 100 events, is about 500 kB; anything above a mebibyte is not an
    /// answer of Stripe's.
    public static let defaultMaxBodyBytes = 1 << 20

    /// The key sent as `Authorization: Bearer …`.
    public var key: StripeKey { didSet { head = makeHead() } }

    /// Scheme, host and port, without a path; `https` for a live key, see ``StripeKey/maySend(to:)``.
    public var baseURL: String { didSet { head = makeHead() } }

    /// The account to act for: a connected account (`Stripe-Account`), or with an organisation's key, ``StripeKey/isOrganization``,
    /// one of its accounts (`Stripe-Context`; there also `acct_platform/acct_connected`).
    public var account: String? { didSet { head = makeHead() } }

    /// `Stripe-Version`; see ``StripeVersion/pinned``.
    public var version: String { didSet { head = makeHead() } }

    /// What every request begins with: built when the fields above change, not for each of thousands of polls.
    private(set) var head: RequestHead

    /// How long one try may take, from connecting to the last byte of the body.
    ///
    /// 80 s as in the official SDKs; a poller passes its own, shorter one with each call.
    public var timeout: Duration

    /// How many bytes of a response body are accepted.
    public var maxBodyBytes: Int

    /// When typed calls are repeated; the raw ones never are.
    public var retry: StripeRetryPolicy

    /// Measures the pauses between tries.
    public var clock: any Clock<Duration>

    /// Makes the `Idempotency-Key` of a POST whose caller gave none: a random UUID unless set.
    public var makeIdempotencyKey: @Sendable () -> String

    /// Makes a number from 0 up to 1 for the jitter of a pause: random unless set.
    public var makeJitter: @Sendable () -> Double

    /// Starts from Stripe's own address and the defaults above.
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
        precondition(maxBodyBytes > 0, "a client that accepts no body can read nothing")
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

/// The API version every request pins.
public enum StripeVersion {
    /// The version this library was written against.
    ///
    /// The newest version the official SDK `stripe-python` 16.1.0 speaks; pinning it keeps an account's
    /// default version from changing the shape of what we decode.
    public static let pinned = "2026-10-28.endive"
}
