import AsyncHTTPClient
import NIOCore

extension PollerClient {
    /// Runs `body` with a client that makes its own connections and closes them at the end: for
    /// commands and other short-lived programs.
    ///
    /// A server that refuses connections is reported at once rather than tried again, and
    /// redirects are not followed: the key is for this server alone.
    public static func withClient<Value>(
        url: String,
        gateway: String? = nil,
        apiKey: String? = nil,
        _ body: (PollerClient) async throws -> Value
    ) async throws -> Value {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5))
        )
        configuration.connectionPool.retryConnectionEstablishment = false
        return try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            try await body(try PollerClient(url: url, gateway: gateway, apiKey: apiKey, http: http))
        }
    }
}
