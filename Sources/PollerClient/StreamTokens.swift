import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Has a short-lived token made for the live gateway, to be handed to a customer's browser.
    ///
    /// - `sources`: of these sources only, at most 20; nil for all of the account.
    /// - `types`: of these types only, such as `source.*`, at most 20; nil for all.
    /// - `account`: whose events; nil for the default account.
    /// - `isFull`: events as they were recorded, for a service; a customer may not see all of it.
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
