import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
        let wanted = Wanted(
            account: account,
            sources: sources,
            types: types,
            view: isFull ? "full" : "public",
            ttl: ttl.spanText
        )
        let body: String
        do {
            body = String(decoding: try Self.encoder().encode(wanted), as: UTF8.self)
        } catch {
            throw PollerError.invalidConfiguration("the token's scope cannot be written as JSON")
        }
        let answer = try await send(.POST, "/v1/stream_tokens", body: body)
        guard let token = StreamToken(json: answer.text) else {
            throw PollerError.unintelligible(
                "the answer is not a token: check the URL and the server's version"
            )
        }
        return token
    }

    private struct Wanted: Encodable {
        let account: String?
        let sources: [String]?
        let types: [String]?
        let view: String
        let ttl: String
    }
}
