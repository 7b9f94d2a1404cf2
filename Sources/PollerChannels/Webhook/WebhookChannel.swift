import AsyncHTTPClient
import NIOCore
import NIOHTTP1
package import NIOSSL
package import Poller
package import PollerNet
import ServiceLifecycle

/// Tells a customer by a signed POST, as <https://www.standardwebhooks.com> has it.
///
/// *Request*: the event's bytes as they are recorded, `webhook-id` (the event's id, the same for
/// every attempt), `webhook-timestamp`, `webhook-signature` with one `v1,…` for each live secret.
/// *Limits*: 15 s from resolving the name to the end of the answer, of which 8 KiB are read.
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

    private let secrets: @Sendable (EndpointID) async -> [WebhookSecret]
    private let guarding: AddressGuard
    private let resolver: any AddressResolver
    private let wallClock: @Sendable () -> Timestamp
    private let clients: PinnedClients

    /// A channel to the addresses that `guarding` lets pass.
    ///
    /// `secrets` yields the live secrets of an endpoint, newest first, of which three at most are
    /// used; `wallClock` is for `webhook-timestamp`, which receivers compare with their own clock;
    /// `trustRoots` says whose certificates are believed.
    package init(
        secrets: @escaping @Sendable (EndpointID) async -> [WebhookSecret],
        guarding: AddressGuard,
        schedule: RetrySchedule = .webhook,
        resolver: any AddressResolver = SystemResolver(),
        trustRoots: NIOSSLTrustRoots = .default,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.secrets = secrets
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

    package func deliver(_ event: Event, to url: NotifyURL, attempt: Int) async -> AttemptResult {
        let deadline = NIODeadline.now() + .nanoseconds(Int64(timeout.ms) * 1_000_000)
        let target: HTTPTarget
        let addresses: [SocketAddress]
        do throws(InvalidInput) {
            target = try HTTPTarget(url)
        } catch {
            return .rejected("the URL \(error.message)")
        }
        do throws(ResolutionFailure) {
            addresses = try await resolver.addresses(host: target.host, port: target.port)
        } catch {
            return .failed("the host's name does not resolve: \(error.reason)", after: nil)
        }
        let reachable = addresses.filter { mayConnect($0, isSecure: target.isSecure) }
        guard !reachable.isEmpty else { return blocked(target, attempt: attempt) }
        // Every attempt tries another address, in the resolver's order.
        let address = reachable[max(0, attempt - 1) % reachable.count]

        let timestamp = wallClock().ms / 1000
        let endpoint = EndpointID(account: event.key.account, url: url.description)
        let signatures = await secrets(endpoint).prefix(3)
            .map { $0.signature(id: event.id, timestamp: timestamp, body: event.json) }
        guard !signatures.isEmpty else {
            return .failed("the endpoint has no secret to sign with", after: nil)
        }
        let headers: HTTPHeaders = [
            "content-type": "application/json",
            "user-agent": "poller/1",
            "webhook-id": event.id.description,
            "webhook-timestamp": String(timestamp),
            "webhook-signature": signatures.joined(separator: " "),
        ]
        let request: HTTPClient.Request
        do {
            request = try HTTPClient.Request(
                url: target.url,
                method: .POST,
                headers: headers,
                body: .string(event.json)
            )
        } catch {
            return .rejected("the URL cannot be requested: \(error)")
        }
        let result = await clients.withClient(host: target.host, address: address) { client in
            await send(request, client, deadline)
        }
        return result ?? .failed("shutting down", after: nil)
    }

    private func send(
        _ request: HTTPClient.Request,
        _ client: HTTPClient,
        _ deadline: NIODeadline
    ) async -> AttemptResult {
        let reader = AnswerReader()
        let task = client.execute(request: request, delegate: reader, deadline: deadline)
        do {
            try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
        } catch {
            guard let answer = reader.answer else { return .failed(reason(error), after: nil) }
            return answer.result(now: wallClock())
        }
        return reader.answer?.result(now: wallClock()) ?? .failed("no answer", after: nil)
    }

    private func mayConnect(_ address: SocketAddress, isSecure: Bool) -> Bool {
        switch guarding.judge(address) {
        case .allowed: true
        case .open: isSecure
        case .blocked: false
        }
    }

    private func blocked(_ target: HTTPTarget, attempt: Int) -> AttemptResult {
        let reason =
            "the address may not be reached: use https to a public host, "
            + "or have the operator add it to POLLER_ALLOW_CIDRS"
        return attempt < Self.blockedAttemptsMax
            ? .failed(reason, after: nil) : .rejected(reason)
    }

    /// A short reason for operators; never the URL, which may hold a customer's token.
    private func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded:
            "no complete answer within \(timeout.text)"
        case let error as HTTPClientError where error == .connectTimeout:
            "no connection within 10s"
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            "the receiver closed the connection"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            "TLS failed: \("\(error)".prefix(160))"
        case is PinnedClients.WrongPeer: "the connection led to another address"
        default: String("\(error)".prefix(160))
        }
    }
}
