import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Creates a short-lived token for the live gateway, to be passed to a customer's browser.
    ///
    /// - `sources`: only of these sources, at most 20, or `nil` for all of the account.
    /// - `types`: only of these types, such as `source.*`, at most 20, or `nil` for all.
    /// - `account`: the account of the events, or `nil` for the default account.
    /// - `isFull`: unrestricted events, for a service. A customer may not read all of their data.
    /// - `ttl`: 1 s to 1 h.
    public func streamToken(
        sources: [String]? = nil,
        types: [String]? = nil,
        account: String? = nil,
        isFull: Bool = false,
        ttl: Duration = .seconds(600)
    ) async throws -> StreamToken {
        var request = StreamTokenRequest()
        request.account = account
        request.sources = sources
        request.types = types
        request.view = Open(isFull ? .full : .public)
        request.ttl = Span(ttl)
        let answer = try await send(.POST, "/v1/stream_tokens", body: request.json)
        return try answer.received("a token").value
    }
}
