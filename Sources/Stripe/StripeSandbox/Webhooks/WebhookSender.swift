import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import StripeAPI

/// Posts webhooks; when to try again is the state's decision.
struct WebhookSender: Service {
    /// Posts at a time: enough that a slow endpoint does not hold up the others in a test.
    static let concurrencyMax = 128

    /// How long an endpoint may take to answer.
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
                // What is still under way would keep a stopping sandbox alive.
                group.cancelAll()
            }
        }
    }

    /// Nothing is noted when the sandbox stops: a try that was cut off is no answer.
    private func send(_ post: WebhookPost, _ client: HTTPClient) async {
        let status = await answer(to: post, client)
        guard !Task.isCancelled else { return }
        if !(200..<300).contains(status) {
            logger.debug("webhook not taken", metadata: ["status": "\(status)"])
        }
        store.step { $0.recordAttempt(post.delivery, status: status) }
    }

    /// The endpoint's status, 0 without an answer; every attempt is signed anew, as Stripe's are.
    private func answer(to post: WebhookPost, _ client: HTTPClient) async -> Int {
        var request = HTTPClientRequest(url: post.url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json; charset=utf-8")
        request.headers.add(name: "User-Agent", value: "Stripe/1.0 (stripe-sandbox)")
        request.headers.add(name: "Stripe-Signature", value: signature(of: post))
        request.body = .bytes(ByteBuffer(bytes: post.body))
        do {
            let response = try await client.execute(request, timeout: Self.timeout)
            // Read a little, so that the connection can be used again.
            _ = try await response.body.collect(upTo: 1 << 16)
            return Int(clamping: response.status.code)
        } catch {
            return 0
        }
    }

    /// `t=…,v1=…`, with one more `v1` while a secret is rolled.
    private func signature(of post: WebhookPost) -> String {
        // Receivers compare it with their own clock, so it is the machine's time.
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

/// One event on its way to one endpoint.
struct WebhookDelivery: Codable {
    let event: String
    let type: String
    let endpoint: String
    let body: [UInt8]
    /// Tries so far.
    var attempts = 0
}

/// What is posted to an endpoint now.
struct WebhookPost: Sendable {
    /// The delivery it is a try of.
    let delivery: Int
    let url: String
    /// One, or two while a secret is rolled.
    let secrets: [String]
    let body: [UInt8]
}

/// One try to deliver an event, for `GET /_sandbox/webhooks/attempts`.
struct WebhookAttempt {
    let event: String
    let type: String
    let endpoint: String
    let attempt: Int
    /// The endpoint's answer; 0 when there was none, nil when the sandbox was told to lose it.
    let status: Int?
    let atMs: Int64
}

/// When a webhook is tried again: pauses that double, as Stripe's do, compressed as far as tests like.
struct WebhookSchedule {
    /// Stripe gives up after three days.
    static let pauseMaxMs: Int64 = 3 * 24 * 3_600_000

    let tries: Int
    let firstPauseMs: Int64

    /// The pause after a failed try; nil after the last one.
    func pauseMs(after attempt: Int) -> Int64? {
        guard attempt < tries else { return nil }
        let doubled = firstPauseMs.multipliedReportingOverflow(by: 1 << min(attempt - 1, 40))
        return doubled.overflow ? Self.pauseMaxMs : min(doubled.partialValue, Self.pauseMaxMs)
    }
}
