public import AsyncHTTPClient
import NIOCore
import NIOSSL

/// A client of a poller cluster's HTTP API.
///
/// ```swift
/// let poller = try PollerClient(url: "http://127.0.0.1:8080")
/// try await poller.enqueue(WatchRequest(source: "src_123", policy: "interactive"))
/// for try await event in poller.events(for: "src_123") { print(event.type) }
/// ```
///
/// Every call may be repeated: enqueueing joins an open watch, and cancelling a cancelled watch succeeds. It is a value
/// that tasks may share. Connections belong to the `HTTPClient`.
///
/// *Errors*: every call throws ``PollerError``, or `CancellationError` if its task is cancelled.
public struct PollerClient: Sendable {
    /// The timeout of a response, in addition to the wait of a long poll.
    static let timeout = Duration.seconds(15)

    /// The server's URL, without a trailing slash.
    public var url: String { base }

    let base: String
    /// The URL of the live gateway, without a trailing slash, or `nil` to use none.
    let gateway: String?
    let apiKey: String?
    let http: HTTPClient
    /// How long a call waits in total while the server rejects it because of the key's rate.
    ///
    /// A list that reads many records uses up the rate, so its next page may be rejected for a moment.
    package var rateTimeout = Duration.zero

    /// Creates a client of one server.
    ///
    /// - `url`: `http://host:port` or `https://…`, with a path if a proxy adds one.
    /// - `gateway`: the live gateway in the same form, for events without the delay of long polls, or `nil` to use
    ///   none. While it is unavailable, followers continue with long polls.
    /// - `apiKey`: a key of the server, or `nil` for a server without keys.
    /// - `http`: makes the connections. The default is the shared client, which opens at most eight to one server. Each
    ///   follower and each wait uses one. For several of them pass a client with a larger
    ///   `connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit`.
    public init(
        url: String,
        gateway: String? = nil,
        apiKey: String? = nil,
        http: HTTPClient = .shared
    ) throws(PollerError) {
        if let apiKey {
            let isKey = !apiKey.isEmpty && apiKey.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            guard isKey else {
                throw .invalidConfiguration("the API key must be printable ASCII without spaces")
            }
        }
        base = try Self.checked(url, what: "the server's URL")
        self.gateway = try gateway.map { url throws(PollerError) in
            try Self.checked(url, what: "the gateway's URL")
        }
        self.apiKey = apiKey
        self.http = http
    }

    /// Checks a URL and removes trailing slashes.
    private static func checked(_ url: String, what: String) throws(PollerError) -> String {
        let lowered = url.lowercased()
        let hasScheme = lowered.hasPrefix("http://") || lowered.hasPrefix("https://")
        let isClean = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        let host = url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" }
        guard hasScheme, isClean, !host.isEmpty, !host.hasPrefix(":"), !url.contains("?"),
            !url.contains("#")
        else { throw .invalidConfiguration("\(what) must be http://HOST:PORT") }
        var base = url
        while base.hasSuffix("/") { base.removeLast() }
        return base
    }
}

extension PollerClient {
    /// Runs `body` with a client that opens separate connections and closes them at the end.
    ///
    /// It is for commands and other short-lived programs. A server that refuses connections is reported at once,
    /// without a retry. Redirects are not followed, because the key is for this server only.
    ///
    /// - Parameters:
    ///   - url: the server's address.
    ///   - gateway: the live gateway's address, if needed.
    ///   - apiKey: the API key.
    ///   - caFile: a PEM file with the certificates to trust instead of this machine's. Use it for a server whose
    ///     certificate a private authority has signed.
    ///   - body: receives the client.
    /// - Returns: the result of `body`.
    /// - Throws: ``PollerError`` for an invalid address, key or file, and any error of `body`.
    public static func withClient<Value>(
        url: String,
        gateway: String? = nil,
        apiKey: String? = nil,
        caFile: String? = nil,
        _ body: (PollerClient) async throws -> Value
    ) async throws -> Value {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5))
        )
        configuration.connectionPool.retryConnectionEstablishment = false
        if let caFile { configuration.tlsConfiguration = try trusting(caFile) }
        return try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            try await body(try PollerClient(url: url, gateway: gateway, apiKey: apiKey, http: http))
        }
    }

    /// Trusts only the certificates in a file.
    private static func trusting(_ caFile: String) throws(PollerError) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(caFile)
            configuration.trustRoots = .certificates(certificates)
        } catch {
            throw .invalidConfiguration(
                "\(caFile) must be a PEM file with the certificates to trust, and readable"
            )
        }
        return configuration
    }
}
