public import AsyncHTTPClient
import NIOCore
import NIOSSL

/// Talks to a poller cluster over its HTTP API.
///
/// ```swift
/// let poller = try PollerClient(url: "http://127.0.0.1:8080")
/// try await poller.enqueue(WatchRequest(source: "src_123", policy: "interactive"))
/// for try await event in poller.events(for: "src_123") { print(event.type) }
/// ```
///
/// Every call may be repeated: enqueueing joins, cancelling what is cancelled succeeds. A value
/// that may be shared between tasks; connections belong to the `HTTPClient`.
///
/// *Errors*: every call throws ``PollerError``, or `CancellationError` when its task is cancelled.
public struct PollerClient: Sendable {
    /// Time for an answer, beyond what a long poll waits.
    static let timeout = Duration.seconds(15)

    /// The server, without a slash at the end.
    public var url: String { base }

    let base: String
    /// The live gateway, without a slash at the end; nil when there is none to be used.
    let gateway: String?
    let apiKey: String?
    let http: HTTPClient

    /// A client of one server.
    ///
    /// - `url`: `http://host:port` or `https://…`, with a path when a proxy adds one.
    /// - `gateway`: the live gateway in the same form, for events without the delay of long polls;
    ///   nil to do without. Followers go on over long polls while it cannot be reached.
    /// - `apiKey`: one of the server's keys; nil for a server that has none.
    /// - `http`: makes the connections; the shared one by default, which makes at most eight to
    ///   one server. Each follower and each wait holds one, so with several of them give a client
    ///   whose `connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit` is larger.
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

    /// Checks a URL and takes the slashes off its end.
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
    /// Runs `body` with a client that makes its own connections and closes them at the end: for
    /// commands and other short-lived programs.
    ///
    /// A server that refuses connections is reported at once rather than tried again, and
    /// redirects are not followed: the key is for this server alone.
    ///
    /// - Parameters:
    ///   - url: the server's address.
    ///   - gateway: the live gateway's, where it is needed.
    ///   - apiKey: the key that is shown.
    ///   - caFile: PEM file with the certificates to trust, instead of this machine's own: for a server
    ///     whose certificate a private authority has signed.
    ///   - body: gets the client.
    /// - Returns: what `body` returns.
    /// - Throws: ``PollerError`` for what is wrong with the address, the key or the file; and what `body`
    ///   throws.
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

    /// Trusts those in a file alone.
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
