import AsyncHTTPClient
import NIOCore
import NIOHTTP1
package import NIOSSL
package import Poller
package import PollerNet
import ServiceLifecycle

/// Tells a customer by a signed POST, as <https://www.standardwebhooks.com> has it.
///
/// *Request*: the event's bytes as they are recorded (or its thin form), the endpoint's own
/// headers, `webhook-id` (the event's id, the same for every attempt), `webhook-timestamp`,
/// `webhook-signature` with one `v1,…` for each live secret.
/// *Limits*: 15 s, or the endpoint's own timeout, from resolving the name to the end of the
/// answer, of which 8 KiB are read.
/// A receiver that has sent a 2xx head has accepted, whatever becomes of the body: an attempt
/// cut off in the body and made again would be cut off again. No redirects, cookies, proxies.
///
/// Run it as a service listed before the notifier, so that it closes its connections after it.
package struct WebhookChannel: DeliveryChannel, Service {
    /// Attempts at an endpoint whose every address is blocked, before that is final: a DNS
    /// mistake may be mended, a probe of our network goes nowhere.
    private static let blockedAttemptsMax = 3

    package let schemes: Set<String> = ["https", "http"]
    package let timeout = Duration.seconds(15)
    package let schedule: RetrySchedule

    private let secret: WebhookSecret
    private let guarding: AddressGuard
    private let resolver: any AddressResolver
    private let wallClock: @Sendable () -> Timestamp
    private let clients: PinnedClients

    /// A channel to the addresses that `guarding` lets pass.
    ///
    /// `secret` signs for inline URLs, registered endpoints bring their own; `wallClock` is for
    /// `webhook-timestamp`, which receivers compare with their own clock, and for the ends of
    /// secrets; `trustRoots` says whose certificates are believed.
    package init(
        secret: WebhookSecret,
        guarding: AddressGuard,
        schedule: RetrySchedule = .webhook,
        resolver: any AddressResolver,
        trustRoots: NIOSSLTrustRoots = .default,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.secret = secret
        self.guarding = guarding
        self.schedule = schedule
        self.resolver = resolver
        self.wallClock = wallClock
        clients = PinnedClients(trustRoots: trustRoots)
    }

    /// Keeps connections until shutdown, then closes them.
    package func run() async {
        // Cancelled is as good a reason to close as a graceful shutdown.
        try? await gracefulShutdown()
        await close()
    }

    /// Closes every connection; attempts under way fail.
    package func close() async {
        await clients.close()
    }

    package func wants(_ event: Event) -> Bool { true }

    package func deliver(
        _ event: Event,
        to receiver: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        let timeout = receiver.endpoint?.timeout ?? timeout
        let began = NIODeadline.now()
        let deadline = began + .nanoseconds(Int64(timeout.ms) * 1_000_000)
        let target: HTTPTarget
        let addresses: [SocketAddress]
        do throws(InvalidInput) {
            target = try HTTPTarget(receiver.url)
        } catch {
            return .rejected("the URL \(error.message)", .unusable)
        }
        do throws(ResolutionFailure) {
            addresses = try await resolver.addresses(host: target.host, port: target.port)
        } catch {
            return .failed("the host's name does not resolve: \(error.reason)", .dns)
        }
        let resolved = NIODeadline.now()
        let reachable = guarding.reachable(addresses, isSecure: target.isSecure)
        guard !reachable.isEmpty else { return blocked(target, attempt: attempt) }
        // Every attempt tries another address, in the resolver's order.
        let address = reachable[max(0, attempt - 1) % reachable.count]

        let body = receiver.body(of: event)
        guard let headers = headers(event.id, body, for: receiver) else {
            return .failed("the endpoint has no live secret to sign with: rotate it", .local)
        }
        let request: HTTPClient.Request
        do {
            request = try HTTPClient.Request(
                url: target.url,
                method: .POST,
                headers: headers,
                body: .string(body)
            )
        } catch {
            return .rejected("the URL cannot be requested: \(error)", .unusable)
        }
        let sent = await clients.withClient(host: target.host, address: address) { client in
            await send(request, client, deadline, timeout)
        }
        guard var result = sent else { return .failed("shutting down", .local) }
        result.address = address.text
        result.phases.resolveMs = AnswerReader.ms(from: began, to: resolved)
        result.phases.totalMs = AnswerReader.ms(from: began, to: .now())
        return result
    }

    /// What goes before the body; nil when nothing can sign it.
    private func headers(
        _ id: EventID,
        _ body: String,
        for receiver: DeliveryTarget
    ) -> HTTPHeaders? {
        let now = wallClock()
        let secrets = receiver.endpoint?.secrets(at: now) ?? [secret]
        guard !secrets.isEmpty else { return nil }
        let timestamp = now.ms / 1000
        let signatures = secrets.map { $0.signature(id: id, timestamp: timestamp, body: body) }
        var headers: HTTPHeaders = [
            "content-type": "application/json",
            "user-agent": "poller/1",
            "webhook-id": id.description,
            "webhook-timestamp": String(timestamp),
            "webhook-signature": signatures.joined(separator: " "),
        ]
        for header in receiver.endpoint?.headers ?? [] {
            headers.add(name: header.name, value: header.value)
        }
        return headers
    }

    private func send(
        _ request: HTTPClient.Request,
        _ client: HTTPClient,
        _ deadline: NIODeadline,
        _ timeout: Duration
    ) async -> AttemptResult {
        let reader = AnswerReader()
        let task = client.execute(request: request, delegate: reader, deadline: deadline)
        var failure = WebhookFailure(HTTPClientError.remoteConnectionClosed, timeout: timeout)
        do {
            try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
        } catch {
            failure = WebhookFailure(error, timeout: timeout)
        }
        var result = reader.answer?.result(now: wallClock()) ?? failure.result
        result.phases = reader.phases
        return result
    }

    private func blocked(_ target: HTTPTarget, attempt: Int) -> AttemptResult {
        let reason =
            "the address may not be reached: use https to a public host, "
            + "or have the operator add it to POLLER_ALLOW_CIDRS"
        return attempt < Self.blockedAttemptsMax
            ? .failed(reason, .blocked) : .rejected(reason, .blocked)
    }
}

extension SocketAddress {
    /// `192.0.2.1:443`, `[2001:db8::1]:443`.
    fileprivate var text: String? {
        guard let ip = ipAddress, let port else { return nil }
        return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}
