/// Where a ``SourcePoller`` looks: Stripe itself, or a poller cluster that watches the Source already.
public protocol SourceReader: Sendable {
    /// Reads a Source once, without retries of its own.
    ///
    /// - Parameter request: Which Source, what is known of it, and how long to take.
    /// - Returns: What is known now.
    /// - Throws: Any ``StripeError``; the poller decides which of them are worth another try.
    func read(_ request: SourceReadRequest) async throws(StripeError) -> SourceSnapshot
}

/// One look at a Source.
public struct SourceReadRequest: Hashable, Sendable {
    /// `src_…`.
    public let id: String
    /// Required when the reader has a publishable key.
    public let clientSecret: ClientSecret?
    /// The ``SourceSnapshot/seq`` of the last look; nil for the first, which must not wait.
    public let afterSeq: Int?
    /// How long the answer may be held back until there is news; a reader that cannot wait ignores it.
    public let wait: Duration
    /// From now to the answer, without ``wait``.
    public let timeout: Duration

    /// Describes a look.
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

/// What one look at a Source showed.
public struct SourceSnapshot: Hashable, Sendable {
    /// The Source; nil when there is no news of it, or none at all yet.
    public let source: Source?
    /// Its status; nil when there is no news of it, or none at all yet.
    public let status: SourceStatus?
    /// Counts the changes seen by a cluster; nil from Stripe, which does not count.
    public let seq: Int?
    /// Why nobody looks at the Source any more, as `expired`; nil while somebody does.
    public let closedReason: String?

    /// Describes what a look showed.
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
/// Every look is a GET that counts towards the account's read allocation and its 25 requests per second on this
/// endpoint; with more than a few customers at once, let a cluster poll and read from that.
public struct StripeSourceReader: SourceReader {
    private let client: StripeClient

    /// Reads with a client's key; a publishable one needs the client secret of each Source.
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
