import NIOHTTP1
package import NIOSSL
package import PollerDeliveries
package import PollerIdentity
package import PollerNet
import PollerOperations
package import PollerWatches
import ServiceLifecycle
import StandardWebhooks
import Synchronization

/// Delivers events by a signed POST, as in <https://www.standardwebhooks.com>.
///
/// *Request*: the body has the recorded bytes of the event, or its thin form. The headers are the endpoint's own,
/// `webhook-id` (the event ID, the same for every attempt), `webhook-timestamp`, and `webhook-signature` with one
/// `v1,…` or `v1a,…` for each live secret. A traced event also has `traceparent`.
/// *Limits*: 15 s, or the endpoint's own timeout, from name resolution to the end of the response, of which at most 8
/// KiB are read. A 2xx status line counts as delivered, even if the rest of the response is broken, because a retry
/// would get the same response. Truncated or invalid response headers are noted in the log of the attempt. Redirects,
/// cookies and proxies are not used.
///
/// Run it as a service listed before the notifier, so that it closes its connections after the notifier has stopped.
package struct WebhookChannel: DeliveryChannel, Service {
    /// The number of attempts at an endpoint with only blocked addresses before it is rejected.
    ///
    /// An operator may fix a wrong DNS record, and a probe of the internal network never succeeds.
    private static let blockedAttemptsMax = 3

    package let schemes: Set<String> = ["https", "http"]
    package let timeout = Duration.seconds(15)
    package let schedule: RetrySchedule

    /// The number of response bytes after which closing the connection is cheaper than reading the rest.
    private static let answerBytesMax = 8192

    private let inline: InlineSecrets
    private let wallClock: @Sendable () -> Timestamp
    private let client: GuardedClient
    private let targets = ParsedURLCache()

    /// Creates a channel to the addresses that `guarding` allows.
    ///
    /// `inline` signs for inline URLs, and registered endpoints have their own secrets. `wallClock` is used for
    /// `webhook-timestamp`, which receivers compare with their own clock, and for the expiry of secrets. Certificates
    /// are trusted if they are signed by `trustRoots` or `authorities`.
    package init(
        inline: InlineSecrets,
        guarding: AddressGuard,
        schedule: RetrySchedule = .webhook,
        resolver: any AddressResolver,
        trustRoots: NIOSSLTrustRoots = .default,
        authorities: [NIOSSLCertificate] = [],
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.inline = inline
        self.schedule = schedule
        self.wallClock = wallClock
        client = GuardedClient(
            guarding: guarding,
            resolver: resolver,
            trustRoots: trustRoots,
            authorities: authorities
        )
    }

    /// Keeps connections until shutdown, then closes them.
    package func run() async {
        await client.run()
    }

    /// Closes every connection; attempts in progress fail.
    package func close() async {
        await client.close()
    }

    package func supports(_ event: Event) -> Bool { true }

    package func deliver(
        _ event: Event,
        to receiver: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        let target: HTTPTarget
        do throws(InvalidInput) {
            target = try targets.target(of: receiver.url)
        } catch {
            return .rejected("the URL \(error.message)", .unusable)
        }
        let route: GuardedClient.Route
        do throws(RequestFailure) {
            route = try await client.route(
                to: target,
                precedingAttempts: attempt - 1,
                within: receiver.endpoint?.timeout ?? timeout
            )
        } catch {
            return unreachable(error, attempt: attempt)
        }
        let body = receiver.body(of: event)
        guard let headers = headers(event, body, for: receiver) else {
            return .misconfigured("the endpoint has no live secret to sign with: rotate it")
        }
        let sent = await client.send(
            .POST,
            headers: headers,
            body: body,
            along: route,
            reading: .beginning(bytesMax: Self.answerBytesMax)
        )
        guard let sent else { return .failed("shutting down", .local) }
        var result: AttemptResult
        switch sent.outcome {
        case .answered(let answer): result = answer.webhookResult(now: wallClock())
        case .cutShort(let answer, let failure):
            let oddity =
                answer.hasHead ? "" : "the head of the response is invalid: \(failure.reason)"
            result = answer.webhookResult(now: wallClock(), oddity: oddity)
        case .failed(let failure) where failure.cause == .unusable:
            return .rejected(failure.reason, failure.attemptClass)
        case .failed(let failure): result = .failed(failure.reason, failure.attemptClass)
        }
        if let answer = sent.outcome.answer, result.outcome != .delivered {
            let sent = receiver.endpoint?.headers.map(\.value) ?? []
            result.excerpt = Excerpt.text(answer.body, hiding: Redaction(sent))
        }
        result.address = sent.address
        result.phases = AttemptPhases(sent.phases)
        result.digest = SentMessage.digest(of: body, to: receiver.url.description)
        return result
    }

    /// Returns the request headers, or `nil` if no secret can sign.
    private func headers(
        _ event: Event,
        _ body: String,
        for receiver: DeliveryTarget
    ) -> HTTPHeaders? {
        let now = wallClock()
        let secrets =
            receiver.endpoint?.secrets(at: now)
            ?? [inline.secret(of: event.key.account)]
        guard !secrets.isEmpty else { return nil }
        let timestamp = now.ms / 1000
        let signatures = secrets.map {
            $0.signature(id: event.id, timestamp: timestamp, body: body)
        }
        let own = receiver.endpoint?.headers ?? []
        // A custom `traceparent` header takes precedence.
        let isTraced = !own.contains { $0.name.lowercased() == "traceparent" }
        var headers = HTTPHeaders(
            WebhookHeaders.of(
                id: event.id.description,
                timestamp: timestamp,
                signatures: signatures,
                traceparent: isTraced ? receiver.trace?.traceparent : nil
            )
        )
        for header in own {
            headers.add(name: header.name, value: header.value)
        }
        return headers
    }

    /// Returns the result of an attempt without a request, which is final after repeated blocked addresses.
    private func unreachable(_ failure: RequestFailure, attempt: Int) -> AttemptResult {
        guard failure.cause == .blocked else {
            return .failed(failure.reason, failure.attemptClass)
        }
        let reason =
            "\(failure.reason): use https to a public host, "
            + "or have the operator add it to POLLER_ALLOW_CIDRS"
        return attempt < Self.blockedAttemptsMax
            ? .failed(reason, .blocked) : .rejected(reason, .blocked)
    }
}

/// A cache of parsed URLs, because an endpoint gets thousands of events under one URL.
///
/// Only the parsed text is kept. Each attempt resolves the name and checks the addresses.
private final class ParsedURLCache: Sendable {
    /// The maximum number of entries, about as many as one process has active endpoints; beyond it the cache is
    /// cleared.
    private static let countMax = 1024

    private let known = Mutex<[String: HTTPTarget]>([:])

    func target(of url: NotifyURL) throws(InvalidInput) -> HTTPTarget {
        if let target = known.withLock({ $0[url.description] }) { return target }
        let target = try HTTPTarget(url)
        known.withLock { known in
            if known.count >= Self.countMax { known = [:] }
            known[url.description] = target
        }
        return target
    }
}

extension GuardedClient.Outcome {
    /// The response, as far as it was received.
    fileprivate var answer: HTTPAnswer? {
        switch self {
        case .answered(let answer), .cutShort(let answer, _): answer
        case .failed: nil
        }
    }
}

extension HTTPAnswer {
    /// Returns the result of a receiver's response, which depends on its status line and headers, not on its body.
    ///
    /// | status | result |
    /// |---|---|
    /// | 2xx | delivered |
    /// | 3xx | failed: a redirect would send the signed body to another server |
    /// | 410 | rejected: the receiver requests no further events |
    /// | 429, 503 | failed, not before `Retry-After` |
    /// | others | failed |
    ///
    /// `oddity` describes a defect of the response apart from its status; empty if there is none.
    fileprivate func webhookResult(now: Timestamp, oddity: String = "") -> AttemptResult {
        var result =
            switch status {
            case 200..<300: AttemptResult.delivered(despite: oddity)
            case 300..<400:
                AttemptResult.failed("answered \(status): redirect not followed", kind)
            case 410: AttemptResult.rejected("answered 410: recipient accepts no events", kind)
            case 429, 503:
                AttemptResult.failed("answered \(status)", kind, after: retryAfter(now: now))
            default: AttemptResult.failed("answered \(status)", kind)
            }
        result.code = status
        return result
    }

    private var kind: AttemptClass {
        switch status {
        case 200..<300: .ok
        case 300..<400: .redirect
        case 401, 403: .unauthorized
        case 404: .notFound
        case 410: .gone
        case 429: .rateLimited
        case 400..<500: .clientError
        default: .serverError
        }
    }
}
