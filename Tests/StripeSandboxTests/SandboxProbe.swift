import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StripeAPI
import StripeSandbox

/// Talks to a sandbox in every way a test needs.
struct SandboxProbe {
    let base: String

    /// Runs a sandbox and a probe of it.
    ///
    /// - Returns: What the body returns.
    @discardableResult
    static func run<Value: Sendable>(
        _ configuration: SandboxConfiguration = SandboxConfiguration(autoDelay: .milliseconds(20)),
        _ body: @escaping @Sendable (SandboxProbe) async throws -> Value
    ) async throws -> Value {
        try await Sandbox.withRunning(configuration) { try await body(SandboxProbe(base: $0)) }
    }

    func client(
        _ key: String = "sk_test_0123456789abcdef",
        timeout: Duration = .seconds(10)
    ) -> StripeClient {
        StripeClient(
            configuration: StripeClientConfiguration(
                key: StripeKey(key),
                baseURL: base,
                timeout: timeout,
                // A fault is to be seen, not waited out.
                retry: .never
            )
        )
    }

    /// A pending redirect source.
    func makeSource(_ more: [(String, String)] = []) async throws -> Source {
        try await client().createSource(
            [
                ("type", "ideal"), ("amount", "1099"), ("currency", "eur"),
                ("redirect[return_url]", "https://shop.example/back?order=6#top"),
            ] + more
        )
    }

    /// A call of the controls; the answer's JSON.
    func control(
        _ method: HTTPMethod,
        _ path: String,
        _ json: String = ""
    ) async throws -> (status: Int, body: JSONValue) {
        let (status, _, body) = try await send(method, "/_sandbox/" + path, json)
        return (status, try JSONDecoder().decode(JSONValue.self, from: body))
    }

    /// A request of any kind, without a key, its redirects not followed.
    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: String = "",
        headers: HTTPHeaders = [:]
    ) async throws -> (status: Int, headers: HTTPHeaders, body: Data) {
        var request = HTTPClientRequest(url: base + path)
        request.method = method
        request.headers = headers
        if !body.isEmpty { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await Self.http.execute(request, timeout: .seconds(10))
        let bytes = try await response.body.collect(upTo: 1 << 26)
        return (Int(response.status.code), response.headers, Data(bytes.readableBytesView))
    }

    private static let http = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: HTTPClient.Configuration(redirectConfiguration: .disallow)
    )

    /// Asks until the answer is there; gives up after thirty seconds, which no busy machine takes.
    ///
    /// - Returns: The answer.
    func eventually<Value>(_ read: () async throws -> Value?) async throws -> Value {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(30)
        while clock.now < end {
            if let value = try await read() { return value }
            try await clock.sleep(for: .milliseconds(5))
        }
        throw TimedOut()
    }

    struct TimedOut: Error {}
}
