/// The data source of a ``SourcePoller``: Stripe, or a poller cluster that already watches the Source.
public protocol SourceReader: Sendable {
    /// Reads a Source once, without retries.
    ///
    /// - Parameter request: The Source, the last known change and the time limits.
    /// - Returns: The current state.
    /// - Throws: Any ``StripeError``; the poller decides about retries.
    func read(_ request: SourceReadRequest) async throws(StripeError) -> SourceSnapshot
}

/// A request to read a Source.
public struct SourceReadRequest: Hashable, Sendable {
    /// `src_…`.
    public let id: String
    /// Required when the reader has a publishable key.
    public let clientSecret: ClientSecret?
    /// The ``SourceSnapshot/seq`` of the last read; `nil` for the first, which must not wait.
    public let afterSeq: Int?
    /// How long the server may hold the response until a change; readers that cannot wait ignore it.
    public let wait: Duration
    /// The timeout of the request, not including ``wait``.
    public let timeout: Duration

    /// Creates a request.
    public init(
        id: String,
        clientSecret: ClientSecret? = nil,
        afterSeq: Int? = nil,
        wait: Duration = .zero,
        timeout: Duration
    ) {
        self.id = id
        self.clientSecret = clientSecret
        self.afterSeq = afterSeq
        self.wait = wait
        self.timeout = timeout
    }
}

/// The result of one read.
public struct SourceSnapshot: Hashable, Sendable {
    /// The Source; `nil` when it has not changed or has not been read yet.
    public let source: Source?
    /// The status; `nil` when it has not changed or has not been read yet.
    public let status: SourceStatus?
    /// The sequence number of the last change recorded by a cluster; `nil` from Stripe.
    public let seq: Int?
    /// Why the cluster no longer polls the Source, for example `expired`; `nil` while it does.
    public let closedReason: String?

    /// Creates a snapshot.
    public init(
        source: Source?,
        status: SourceStatus? = nil,
        seq: Int? = nil,
        closedReason: String? = nil
    ) {
        self.source = source
        self.status = status ?? source?.status
        self.seq = seq
        self.closedReason = closedReason
    }
}

/// Reads Sources from Stripe.
///
/// Every read is a GET that counts towards the account's read allocation and the limit of 25 requests per second on
/// this endpoint. With more than a few concurrent customers, let a cluster poll and read from it.
public struct StripeSourceReader: SourceReader {
    private let client: StripeClient

    /// Creates a reader with a client's key; a publishable key needs the client secret of each Source.
    public init(client: StripeClient) {
        self.client = client
    }

    /// Reads a Source once.
    public func read(
        _ request: SourceReadRequest
    ) async throws(StripeError) -> SourceSnapshot {
        let query = request.clientSecret.map { [("client_secret", $0.rawValue)] } ?? []
        let path = try StripeCall.path("/v1/sources", request.id)
        let response = try await client.get(path, query: query, timeout: request.timeout)
        return SourceSnapshot(source: try response.decode(Source.self))
    }
}
