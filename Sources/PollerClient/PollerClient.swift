public import AsyncHTTPClient

/// Talks to a poller cluster over its HTTP API.
///
/// ```swift
/// let poller = try PollerClient(url: "http://127.0.0.1:8080")
/// try await poller.enqueue(WatchRequest(source: "src_123", policy: "interactive"))
/// for try await item in poller.follow(["src_123"]) {
///     if case .event(let event) = item { print(event.type) }
/// }
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
    let apiKey: String?
    let http: HTTPClient

    /// A client of one server.
    ///
    /// - `url`: `http://host:port` or `https://…`, with a path when a proxy adds one.
    /// - `apiKey`: one of the server's keys; nil for a server that has none.
    /// - `http`: makes the connections; the shared one by default, which makes at most eight to
    ///   one server. Each follower and each wait holds one, so with several of them give a client
    ///   whose `connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit` is larger.
    public init(
        url: String,
        apiKey: String? = nil,
        http: HTTPClient = .shared
    ) throws(PollerError) {
        let lowered = url.lowercased()
        let hasScheme = lowered.hasPrefix("http://") || lowered.hasPrefix("https://")
        let isClean = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        let host = url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" }
        guard hasScheme, isClean, !host.isEmpty, !host.hasPrefix(":"), !url.contains("?"),
            !url.contains("#")
        else { throw .invalidConfiguration("the server's URL must be http://HOST:PORT") }
        if let apiKey {
            let isKey = !apiKey.isEmpty && apiKey.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            guard isKey else {
                throw .invalidConfiguration("the API key must be printable ASCII without spaces")
            }
        }
        var base = url
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        self.apiKey = apiKey
        self.http = http
    }
}
