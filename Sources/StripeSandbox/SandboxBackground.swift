import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import StripeAPI

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Does what the state put off: delayed transitions and webhooks.
struct SandboxBackground: Service {
    /// Tries per delivery, as Stripe's sandboxes do.
    static let tries = 3

    /// How long an endpoint may take to answer.
    static let webhookTimeout = TimeAmount.seconds(10)

    let store: SandboxStore
    let actions: AsyncStream<SandboxAction>
    let logger: Logger

    func run() async throws {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            await withDiscardingTaskGroup { group in
                for await action in actions.cancelOnGracefulShutdown() {
                    group.addTask { await perform(action, client) }
                }
                // What is still waiting would keep a stopping sandbox alive.
                group.cancelAll()
            }
        }
    }

    private func perform(_ action: SandboxAction, _ client: HTTPClient) async {
        switch action {
        case .settleLater(let transition):
            // Cancelled only when the sandbox stops, and then nobody waits for it.
            guard (try? await Task.sleep(for: store.configuration.autoDelay)) != nil else { return }
            store.settle(transition)
        case .deliver(let event, let url, let secret, let body):
            await deliver(event, url, secret, body, client)
        }
    }

    private func deliver(
        _ event: String,
        _ url: String,
        _ secret: String,
        _ body: [UInt8],
        _ client: HTTPClient
    ) async {
        var pause = store.configuration.webhookRetryDelay
        for attempt in 1...Self.tries {
            if await post(url, secret, body, client) {
                store.step { $0.delivered(event) }
                return
            }
            logger.debug(
                "webhook not taken",
                metadata: ["event": "\(event)", "attempt": "\(attempt)"]
            )
            guard attempt < Self.tries, (try? await Task.sleep(for: pause)) != nil else { return }
            pause *= 2
        }
    }

    /// Whether the endpoint answered 2xx; every attempt is signed anew, as Stripe's are.
    private func post(
        _ url: String,
        _ secret: String,
        _ body: [UInt8],
        _ client: HTTPClient
    ) async -> Bool {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json; charset=utf-8")
        request.headers.add(name: "User-Agent", value: "Stripe/1.0 (stripe-sandbox)")
        request.headers.add(
            name: "Stripe-Signature",
            value: WebhookSignature.header(
                payload: body,
                secret: secret,
                timestamp: store.configuration.nowMs() / 1000
            )
        )
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
            let response = try await client.execute(request, timeout: Self.webhookTimeout)
            // Read a little, so that the connection can be used again.
            _ = try await response.body.collect(upTo: 1 << 16)
            return (200..<300).contains(response.status.code)
        } catch {
            return false
        }
    }
}
