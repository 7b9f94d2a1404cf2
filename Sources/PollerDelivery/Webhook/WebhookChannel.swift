import NIOHTTP1
package import NIOSSL
package import Poller
package import PollerIdentity
package import PollerNet
import ServiceLifecycle
import StandardWebhooks
import Synchronization

/// Tells a customer by a signed POST, as <https://www.standardwebhooks.com> has it.
///
/// *Request*: the event's bytes as they are recorded (or its thin form), the endpoint's own
/// headers, `webhook-id` (the event's id, the same for every attempt), `webhook-timestamp`,
/// `webhook-signature` with one `v1,…` or `v1a,…` for each live secret; `traceparent` of what is traced.
/// *Limits*: 15 s, or the endpoint's own timeout, from resolving the name to the end of the
/// answer, of which 8 KiB are read.
/// A receiver that has sent a 2xx status line has accepted, whatever becomes of the rest of its head and of the body:
/// an attempt that is made again would be answered the same way. A head that breaks off or is not understood is
/// noted in the log of the attempt. No redirects, cookies, proxies.
///
/// Run it as a service listed before the notifier, so that it closes its connections after it.
package struct WebhookChannel: DeliveryChannel, Service {
    /// Attempts at an endpoint whose every address is blocked, before that is final: a DNS
    /// mistake may be mended, a probe of our network goes nowhere.
    private static let blockedAttemptsMax = 3

    package let schemes: Set<String> = ["https", "http"]
    package let timeout = Duration.seconds(15)
    package let schedule: RetrySchedule

    /// Beyond this a connection is cheaper to make again than the rest of a body is to read.
    private static let answerBytesMax = 8192

    private let inline: InlineSecrets
    private let wallClock: @Sendable () -> Timestamp
    private let client: GuardedClient
    private let targets = KnownTargets()

    /// A channel to the addresses that `guarding` lets pass.
    ///
    /// `inline` signs for inline URLs, registered endpoints bring their own; `wallClock` is for
    /// `webhook-timestamp`, which receivers compare with their own clock, and for the ends of
    /// secrets; `trustRoots` and, besides, `authorities` say whose certificates are trusted.
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

    /// Closes every connection; attempts under way fail.
    package func close() async {
        await client.close()
    }

    package func wants(_ event: Event) -> Bool { true }

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
            return .failed("the endpoint has no live secret to sign with: rotate it", .local)
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
            let oddity = answer.hasHead ? "" : "the head of the answer is broken: \(failure.reason)"
            result = answer.webhookResult(now: wallClock(), oddity: oddity)
        case .failed(let failure) where failure.cause == .unusable:
            return .rejected(failure.reason, failure.kind)
        case .failed(let failure): result = .failed(failure.reason, failure.kind)
        }
        if let answer = sent.outcome.answer, result.outcome != .delivered {
            let sent = receiver.endpoint?.headers.map(\.value) ?? []
            result.excerpt = Excerpt.text(answer.body, hiding: Redaction(sent))
        }
        result.address = sent.address
        result.phases = sent.phases
        result.digest = SentMessage.digest(of: body, to: receiver.url.description)
        return result
    }

    /// What goes before the body; nil when nothing can sign it.
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
        // Who has set one of their own, from before there was this one, gets theirs.
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

    /// Why an attempt was not even begun, and whether the next one may be.
    private func unreachable(_ failure: RequestFailure, attempt: Int) -> AttemptResult {
        guard failure.cause == .blocked else { return .failed(failure.reason, failure.kind) }
        let reason =
            "\(failure.reason): use https to a public host, "
            + "or have the operator add it to POLLER_ALLOW_CIDRS"
        return attempt < Self.blockedAttemptsMax
            ? .failed(reason, .blocked) : .rejected(reason, .blocked)
    }
}

/// URLs taken apart, by their text: an endpoint is told thousands of events under one.
///
/// Only what the text says is kept: the name is looked up and its addresses judged at every attempt.
/// A class, because attempts at the same time share it.
private final class KnownTargets: Sendable {
    /// Beyond this they begin anew: as many as one process has endpoints to tell in a moment.
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
    /// The answer, as far as it came.
    fileprivate var answer: HTTPAnswer? {
        switch self {
        case .answered(let answer), .cutShort(let answer, _): answer
        case .failed: nil
        }
    }
}

extension HTTPAnswer {
    /// What follows from a receiver's answer: its status line and headers decide, its body does not.
    ///
    /// | status | result |
    /// |---|---|
    /// | 2xx | delivered |
    /// | 3xx | failed: a redirect would carry the signed body to somebody else |
    /// | 410 | rejected: the receiver wants no more |
    /// | 429, 503 | failed, not before `Retry-After` |
    /// | others | failed |
    ///
    /// `oddity` says what is wrong with the answer beside its status; empty for nothing.
    fileprivate func webhookResult(now: Timestamp, oddity: String = "") -> AttemptResult {
        var result =
            switch status {
            case 200..<300: AttemptResult.delivered(despite: oddity)
            case 300..<400:
                AttemptResult.failed("answered \(status): redirect not followed", kind)
            case 410: AttemptResult.rejected("answered 410: the receiver wants no more", kind)
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
