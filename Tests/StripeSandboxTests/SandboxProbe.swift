import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StripeAPI
import StripeSandbox
import Testing

/// A client of a sandbox with the requests that tests need.
struct SandboxProbe {
    let base: String

    /// Runs a sandbox with a probe.
    ///
    /// - Returns: The result of `body`.
    @discardableResult
    static func run<Value: Sendable>(
        _ configuration: SandboxConfiguration = SandboxConfiguration(autoDelay: .milliseconds(20)),
        _ body: @escaping @Sendable (SandboxProbe) async throws -> Value
    ) async throws -> Value {
        try await Sandbox.withRunning(configuration) { try await body(SandboxProbe(base: $0)) }
    }

    func client(
        _ key: String = "sk_test_0123456789abcdef",
        timeout: Duration = .seconds(60)
    ) -> StripeClient {
        StripeClient(
            configuration: StripeClientConfiguration(
                key: StripeKey(key),
                baseURL: base,
                timeout: timeout,
                // A fault must be visible, not retried.
                retry: .never
            )
        )
    }

    /// Creates a pending redirect Source.
    func makeSource(_ more: [(String, String)] = []) async throws -> Source {
        try await client().createSource(
            [
                ("type", "ideal"), ("amount", "1099"), ("currency", "eur"),
                ("redirect[return_url]", "https://shop.example/back?order=6#top"),
            ] + more
        )
    }

    /// Calls a control and returns the JSON of the response.
    func control(
        _ method: HTTPMethod,
        _ path: String,
        _ json: String = ""
    ) async throws -> (status: Int, body: JSONValue) {
        let (status, _, body) = try await send(method, "/_sandbox/" + path, json)
        return (status, try JSONDecoder().decode(JSONValue.self, from: body))
    }

    /// Sends any request without a key and without following redirects.
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
        let response = try await Self.http.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 1 << 26)
        return (Int(response.status.code), response.headers, Data(bytes.readableBytesView))
    }

    private static let http = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: HTTPClient.Configuration(redirectConfiguration: .disallow)
    )

    /// Reads repeatedly until there is a value, for at most thirty seconds.
    ///
    /// - Returns: The value.
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

/// Records an issue; for the `else` of a guard that ends a test.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
