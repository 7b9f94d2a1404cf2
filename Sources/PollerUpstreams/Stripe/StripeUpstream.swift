import JSONText
import NIOCore
import NIOHTTP1
package import Poller
package import PollerIdentity
package import PollerNet
import PollerPayments
package import PollerWatches
import StripeAPI

/// Polls Stripe sources, intents and charges, without retries of its own.
///
/// A poll is one GET for the object, and more within the same timeout if facts are missing (`StripeUpstream+additionalReads`).
///
/// | response | result |
/// |---|---|
/// | 2xx with an object of this ID | `observed` |
/// | 401 | `revoked`; without Stripe's error object `unauthorized` |
/// | 403 | `unauthorized` |
/// | no request: no key for the account | `unserved` |
/// | no request: a publishable key and no client secret | `unaskable` |
/// | 404 with Stripe's error object | `gone` |
/// | 429 with code `lock_timeout` | `lockTimeout` |
/// | 429 with the reason `resource-specific` | `objectLimited`, with `Retry-After` if present |
/// | any other 429 | `rateLimited`, with `Retry-After` if present |
/// | no request: until `Retry-After`, at least 1 s, after a 429 with the reason `global-…`, for any object of the account | `rateLimited` |
/// | 408, 409, 425, 5xx, no response in time, connection lost | `unavailable` |
/// | anything else: other 4xx, 3xx, 404 of a proxy, no JSON, an encoded body, a wrong type, more than 1 MiB | `malformed` |
package struct StripeUpstream: Upstream {
    private(set) var accounts: StripeAccounts
    let polls: PooledTransport
    private var expiry: SourceExpiry
    private let limited = LimitedAccounts()
    private let dates = ParsedDate()
    private let wallClock: @Sendable () -> Timestamp

    /// Creates an upstream that uses the credentials of each watch's account.
    ///
    /// `resolver` resolves Stripe's host. `expiry` defines when Stripe expires a source. `wallClock` converts HTTP
    /// dates to durations.
    package init(
        accounts: StripeAccounts,
        resolver: any AddressResolver,
        expiry: SourceExpiry = .documented,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.accounts = accounts
        polls = PooledTransport(resolver: resolver)
        self.expiry = expiry
        self.wallClock = wallClock
    }

    /// Returns a copy with other credentials and the same connections.
    package func reconfigured(as accounts: StripeAccounts, expiry: SourceExpiry) -> Self {
        var other = self
        other.accounts = accounts
        other.expiry = expiry
        return other
    }

    /// The reader of payments in the responses.
    package var payments: StripePayments { StripePayments(expiry: expiry) }

    // An async function keeps memory for everything that is inlined in it until it returns, so that each poll in flight
    // took 5 KB more. Hence the functions that it calls are not inlined.
    @inline(never)
    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        let began = ContinuousClock.now
        let request: StripeRequest
        switch prepared(watch) {
        case .request(let prepared): request = prepared
        case .result(let result): return result
        }
        do throws(StripeError) {
            let reply = try await polls.send(request, timeout: timeout)
            let found = result(of: reply, for: watch)
            guard case .observed(let seen) = found, mayBeIncomplete(seen, watch) else {
                return found
            }
            // All requests share the timeout of one poll. A late response is discarded and requested again.
            return try await completed(seen, watch, until: began + timeout)
        } catch {
            return result(of: error)
        }
    }

    /// The request of a poll, or the reason why there is none.
    private enum Prepared {
        case request(StripeRequest)
        case result(PollResult)
    }

    /// Returns the request of a poll, unless the watch cannot be polled.
    @inline(never)
    private func prepared(_ watch: Watch) -> Prepared {
        guard let client = accounts.client(for: watch.key.account) else {
            return .result(.unserved(accounts.whyUnserved(watch.key.account)))
        }
        if let remaining = limited.remaining(of: watch.key.account, at: wallClock()) {
            return .result(.rateLimited(retryAfter: remaining))
        }
        var query: [(String, String)] = []
        if client.isPublishable {
            guard let secret = watch.clientSecret?.reveal else {
                return .result(
                    .unaskable(
                        "a publishable key needs the client_secret: enqueue the source again "
                            + "with it"
                    )
                )
            }
            query = [("client_secret", secret)]
        } else if watch.key.kind == .paymentIntent {
            // Refunds and disputes change no field of an intent, only of its charge. Only the refund object shows the
            // outcome of a refund.
            query = [("expand[]", "latest_charge"), ("expand[]", "latest_charge.refunds")]
        } else if watch.key.kind == .charge {
            // Only the refund objects show whether an authorisation was released or has expired, and the outcome of a
            // refund.
            // *Source*: <https://docs.stripe.com/upgrades#2022-11-15>.
            query = [("expand[]", "refunds")]
        }
        let path = "/v1/\(watch.key.kind.endpoint)/\(watch.key.source)"
        do throws(StripeError) {
            return .request(try client.getRequest(path, query: query))
        } catch {
            return .result(result(of: error))
        }
    }

    @inline(never)
    func result(of reply: StripeReply, for watch: Watch) -> PollResult {
        // Almost all polls end here, so this path copies no data that it does not need.
        if (200..<300).contains(reply.status) { return observed(reply, watch) }
        let response = StripeResponse(reply)
        let failure = response.failure
        switch response.status {
        // The key was revoked, has expired or never existed. A proxy that requires a login sends no Stripe error
        // object.
        case 401 where failure.error != nil: return .revoked("\(failure)")
        case 401, 403: return .unauthorized("\(failure)")
        // A proxy without a route to Stripe responds with 404, too.
        case 404 where failure.error != nil: return .gone
        case 429: return refused(response, failure, watch)
        case 408, 409, 425, 500...:
            let wait = retryAfter(response)
            return .unavailable("\(failure)", retryAfter: wait, isAnswer: true)
        case 300..<400: return .malformed("\(failure): redirects are not followed")
        default:
            let author = failure.error == nil ? ", which is not a response of Stripe" : ""
            return .malformed("\(failure)\(author)")
        }
    }

    /// Returns the result of a 429, which depends on the reason that it gives (``StripeLimitReason``).
    private func refused(
        _ response: StripeResponse,
        _ failure: APIFailure,
        _ watch: Watch
    ) -> PollResult {
        if failure.error?.code == "lock_timeout" { return .lockTimeout }
        let wait = retryAfter(response)
        switch response.headers.limitReason {
        case .resourceSpecific: return .objectLimited(retryAfter: wait)
        case .globalRate, .globalConcurrency:
            limited.note(watch.key.account, until: wallClock() + max(wait ?? .zero, .seconds(1)))
            return .rateLimited(retryAfter: wait)
        // A limit of the endpoint, which is the lane, and any reason that Stripe may add.
        default: return .rateLimited(retryAfter: wait)
        }
    }

    private func retryAfter(_ response: StripeResponse) -> Duration? {
        response.headers.retryAfter.flatMap { RetryAfter.parse($0, now: wallClock()) }
    }

    private func observed(_ reply: StripeReply, _ watch: Watch) -> PollResult {
        if let reason = ContentType.objection(
            to: reply.headers.first(name: "content-type"),
            encodedAs: reply.headers.first(name: "content-encoding")
        ) {
            return .malformed(reason)
        }
        let bytes = Array(reply.body.readableBytesView)
        let facts: ObjectFacts
        let status: PollerPayments.SourceStatus
        do throws(JSONError) {
            facts = try ObjectFacts(scanning: bytes)
        } catch {
            return .malformed("the answer is not understood: \(error)")
        }
        // ASCII needs no copy to be checked, and nearly every answer is ASCII.
        guard bytes.reduce(0, |) < 0x80 || String(validating: bytes, as: UTF8.self) != nil else {
            return .malformed("the answer is not UTF-8")
        }
        guard facts.id == watch.key.source.description else {
            return .malformed("the answer is about another object")
        }
        do throws(InvalidInput) {
            // Stripe's SDKs compare statuses without case. Ours are in lower case.
            let text = facts.status ?? ""
            if let known = watch.state.status, known.description == text {
                status = known
            } else {
                status = try PollerPayments.SourceStatus(text.lowercased())
            }
        } catch {
            return .malformed("\(error)")
        }
        // Expiry depends on Stripe's clock, so the response's date takes precedence over the local clock.
        let isTimed = watch.key.kind == .source
        let date = isTimed ? reply.headers.first(name: "date") : nil
        let now = date.flatMap { dates.parse($0) } ?? wallClock()
        return .observed(
            Observation(
                status: status,
                rank: StripeStatuses.rank(status, of: watch.key.kind, usage: facts.usage),
                object: RawJSON(unchecked: bytes),
                detail: facts.detail.text,
                digest: BodyDigest.text(of: bytes),
                expiresAt: expiry.expiresAt(facts, of: watch.key.kind, now: now),
                upstreamTime: now
            )
        )
    }

    private func result(of error: StripeError) -> PollResult {
        switch error {
        case .transport(let failure): .unavailable("\(failure)", retryAfter: nil)
        case .api(let failure): .unavailable("\(failure)", retryAfter: nil, isAnswer: true)
        case .bodyTooLarge, .malformed, .invalidRequest: .malformed("\(error)")
        }
    }
}

extension StripeClient {
    /// Whether each object must be requested with its client secret.
    var isPublishable: Bool { configuration.key.kind == .publishable }

    /// A copy that reads pages of 100 objects, some of which may have the maximum size of a webhook.
    ///
    /// A charge with all its metadata has 27 kB, and a page of them more than the usual limit.
    var readingPages: StripeClient {
        var copy = self
        copy.configuration.maxBodyBytes = 1 << 24
        return copy
    }
}

/// The rank of each status of Stripe objects.
///
/// | kind | left pending | steady | final |
/// |---|---|---|---|
/// | source, single use | `chargeable` | – | `consumed`, `canceled`, `failed` |
/// | source, reusable | – | `chargeable`, which it stays after each charge | `consumed`, `canceled`, `failed` |
/// | payment_intent | `requires_capture` | – | `succeeded`, `canceled` |
/// | setup_intent | – | – | `succeeded`, `canceled` |
/// | charge | – | – | `succeeded`, `failed`: refunds and disputes do not change its status |
///
/// Any other status of a source except `pending` counts as left pending, even an unknown one. An intent's statuses
/// are not monotonic: `requires_payment_method` means both new and failed again, and the customer may retry.
/// *Source*: <doc:StripeFacts>.
enum StripeStatuses {
    /// Returns the rank of a status; `usage` is the usage of a source.
    static func rank(
        _ status: PollerPayments.SourceStatus,
        of kind: SourceKind,
        usage: String?
    ) -> StatusRank {
        switch (kind, status.description) {
        case (.source, "pending"): .pending
        case (.source, "consumed"), (.source, "canceled"), (.source, "failed"): .final
        case (.source, "chargeable") where usage?.lowercased() == "reusable": .steady
        case (.source, _): .leftPending
        case (.paymentIntent, "requires_capture"): .leftPending
        case (.paymentIntent, "succeeded"), (.paymentIntent, "canceled"): .final
        case (.setupIntent, "succeeded"), (.setupIntent, "canceled"): .final
        case (.charge, "succeeded"), (.charge, "failed"): .final
        default: .pending
        }
    }
}
