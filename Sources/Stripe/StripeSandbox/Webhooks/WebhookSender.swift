import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import StripeAPI

/// Sends webhooks; the state decides about retries.
struct WebhookSender: Service {
    /// The maximum number of concurrent requests: enough that a slow endpoint does not delay others in a test.
    static let concurrencyMax = 128

    /// The response timeout of an endpoint.
    static let timeout = TimeAmount.seconds(10)

    let store: SandboxStore
    let posts: AsyncStream<WebhookPost>
    let logger: Logger

    func run() async throws {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            await withTaskGroup(of: Void.self) { group in
                var running = 0
                for await post in posts.cancelOnGracefulShutdown() {
                    if running == Self.concurrencyMax {
                        await group.next()
                        running -= 1
                    }
                    group.addTask { await send(post, client) }
                    running += 1
                }
                // Requests in flight would delay the shutdown.
                group.cancelAll()
            }
        }
    }

    /// Sends a webhook and records the response, unless the sandbox stops: an aborted attempt is not a response.
    private func send(_ post: WebhookPost, _ client: HTTPClient) async {
        let status = await answer(to: post, client)
        guard !Task.isCancelled else { return }
        if !(200..<300).contains(status) {
            logger.debug("webhook attempt failed", metadata: ["status": "\(status)"])
        }
        store.step { $0.recordAttempt(post.delivery, status: status) }
    }

    /// Returns the endpoint's status, or 0 without a response.
    ///
    /// Like Stripe, it creates a new signature for each attempt.
    private func answer(to post: WebhookPost, _ client: HTTPClient) async -> Int {
        var request = HTTPClientRequest(url: post.url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json; charset=utf-8")
        request.headers.add(name: "User-Agent", value: "Stripe/1.0 (stripe-sandbox)")
        request.headers.add(name: "Stripe-Signature", value: signature(of: post))
        request.body = .bytes(ByteBuffer(bytes: post.body))
        do {
            let response = try await client.execute(request, timeout: Self.timeout)
            // Read some of the body, so that the connection can be reused.
            _ = try await response.body.collect(upTo: 1 << 16)
            return Int(clamping: response.status.code)
        } catch {
            return 0
        }
    }

    /// Returns `t=…,v1=…`, with a second `v1` during a rotation.
    private func signature(of post: WebhookPost) -> String {
        // Receivers compare the timestamp with their own clock, so it is machine time.
        let now = store.configuration.nowMs() / 1000
        let headers = post.secrets.map { secret in
            WebhookSignature.header(payload: post.body, secret: secret, timestamp: now)
        }
        let further = headers.dropFirst().compactMap { header in
            header.split(separator: ",").first { $0.hasPrefix("v1=") }.map(String.init)
        }
        return ([headers.first ?? ""] + further).joined(separator: ",")
    }
}

/// An event that is being delivered to an endpoint.
struct WebhookDelivery: Codable {
    let event: String
    let type: String
    let endpoint: String
    let body: [UInt8]
    /// The number of attempts so far.
    var attempts = 0
}

/// A request to an endpoint.
struct WebhookPost: Sendable {
    /// The delivery this attempt belongs to.
    let delivery: Int
    let url: String
    /// One secret, or two during a rotation.
    let secrets: [String]
    let body: [UInt8]
}

/// An attempt to deliver an event, for `GET /_sandbox/webhooks/attempts`.
struct WebhookAttempt {
    let event: String
    let type: String
    let endpoint: String
    let attempt: Int
    /// The endpoint's response status; 0 without a response, `nil` when a fault dropped the delivery.
    let status: Int?
    let atMs: Int64
}

/// The retry schedule of webhooks: doubling delays like Stripe's, shortened for tests.
struct WebhookSchedule {
    /// The longest delay; Stripe stops after three days.
    static let pauseMaxMs: Int64 = 3 * 24 * 3_600_000

    let tries: Int
    let firstPauseMs: Int64

    /// Returns the delay after a failed attempt; `nil` after the last one.
    func pauseMs(after attempt: Int) -> Int64? {
        guard attempt < tries else { return nil }
        let doubled = firstPauseMs.multipliedReportingOverflow(by: 1 << min(attempt - 1, 40))
        return doubled.overflow ? Self.pauseMaxMs : min(doubled.partialValue, Self.pauseMaxMs)
    }
}
