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
    public var key: StripeKey

    /// Scheme, host and port, without a path.
    public var baseURL: String

    /// `Stripe-Account`: the connected account to act for (Connect).
    public var account: String?

    /// `Stripe-Version`; see ``StripeVersion/pinned``.
    public var version: String

    /// How long one request may take, from connecting to the last byte of the body.
    ///
    /// 80 s as in the official SDKs; a poller passes its own, shorter one with each call.
    public var timeout: Duration

    /// How many bytes of a response body are accepted.
    public var maxBodyBytes: Int

    /// Makes the `Idempotency-Key` of a POST whose caller gave none: a random UUID unless set.
    public var makeIdempotencyKey: @Sendable () -> String

    /// Starts from Stripe's own address and the defaults above.
    public init(
        key: StripeKey,
        baseURL: String = "https://api.stripe.com",
        account: String? = nil,
        version: String = StripeVersion.pinned,
        timeout: Duration = .seconds(80),
        maxBodyBytes: Int = StripeClientConfiguration.defaultMaxBodyBytes,
        makeIdempotencyKey: (@Sendable () -> String)? = nil
    ) {
        precondition(maxBodyBytes > 0, "a client that accepts no body can read nothing")
        self.key = key
        var base = baseURL
        while base.hasSuffix("/") { base.removeLast() }
        self.baseURL = base
        self.account = account
        self.version = version
        self.timeout = timeout
        self.maxBodyBytes = maxBodyBytes
        self.makeIdempotencyKey = makeIdempotencyKey ?? { UUID().uuidString }
    }
}
