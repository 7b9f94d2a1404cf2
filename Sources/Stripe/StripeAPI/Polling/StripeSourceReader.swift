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
