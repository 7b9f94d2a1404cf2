import NIOHTTP1

/// Reads Sources from a poller cluster instead of Stripe: `GET {base}/v1/watches/{source}`.
///
/// The cluster polls once for all readers, so more readers do not cause more requests to Stripe. A request waits on
/// the server for a change (`?after_seq=&wait=`) and returns as soon as the cluster has recorded it. The Source must
/// have been enqueued. The client secret of a request is not needed and not sent.
///
/// *Shape*: `{"source": "src_123", "state": "open", "status": "pending", "seq": 1, "object": {…}}`.
/// *Errors*: 404 when the Source is not watched: enqueue it with `POST /v1/watches`.
public struct WatchSourceReader: SourceReader {
    /// The longest wait, below the idle timeouts of common proxies.
    static let waitMax = Duration.seconds(30)
    /// The maximum response size; a watch contains one Stripe object of a few kilobytes.
    private static let bytesMax = 1 << 20

    private let base: String
    private let account: String?
    private let headers: HTTPHeaders

    /// Creates a reader for a cluster.
    ///
    /// - Parameters:
    ///   - baseURL: The scheme, host and port of the cluster's API.
    ///   - apiKey: An API key of the cluster; `nil` if the cluster requires none.
    ///   - account: The Stripe account that the watch belongs to; `nil` for the default account.
    public init(baseURL: String, apiKey: StripeKey? = nil, account: String? = nil) {
        var base = baseURL
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        self.account = account
        var headers: HTTPHeaders = ["Accept": "application/json"]
        if let apiKey { headers.add(name: "Authorization", value: "Bearer " + apiKey.value) }
        self.headers = headers
    }

    /// Reads the watch of a Source; with ``SourceReadRequest/afterSeq`` the server waits for a change.
    public func read(
        _ request: SourceReadRequest
    ) async throws(StripeError) -> SourceSnapshot {
        let wait = min(max(request.wait, .zero), Self.waitMax)
        let call = StripeCall(
            .get,
            try StripeCall.path("/v1/watches", request.id),
            query: query(request, wait)
        )
        let http = StripeRequest(
            baseURL: base,
            target: call.target,
            headers: headers,
            bytesMax: Self.bytesMax
        )
        let response = StripeResponse(
            try await SharedTransport().send(http, timeout: request.timeout + wait)
        )
        // No change within the wait.
        if response.status == 304 { return SourceSnapshot(source: nil, seq: request.afterSeq) }
        let watch = try response.decode(WatchResponse.self)
        return SourceSnapshot(
            source: watch.object,
            status: watch.status,
            seq: watch.seq,
            closedReason: watch.state == "closed" ? watch.closedReason ?? "closed" : nil
        )
    }

    private func query(_ request: SourceReadRequest, _ wait: Duration) -> [(String, String)] {
        var query = [("kind", "source")]
        if let account { query.append(("account", account)) }
        if let seq = request.afterSeq {
            let ms =
                wait.components.seconds * 1000
                + wait.components.attoseconds / 1_000_000_000_000_000
            query += [("after_seq", String(seq)), ("wait", "\(ms)ms")]
        }
        return query
    }
}

extension WatchSourceReader: RedactedValue {
    /// The cluster's address, without the key.
    public var description: String { "watches of \(base)" }
}

/// The relevant fields of a watch.
private struct WatchResponse: Decodable {
    let state: String
    let closedReason: String?
    let status: SourceStatus?
    let seq: Int
    let object: Source?

    private enum CodingKeys: String, SnakeKey {
        case state, status, seq, object, closedReason
    }
}
