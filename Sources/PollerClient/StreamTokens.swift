import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
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

    /// The body of a request for a stream token.
    private struct Wanted: Encodable {
        let account: String?
        let sources: [String]?
        let types: [String]?
        let view: String
        let ttl: String
    }
}

/// A token with which a browser listens at the live gateway until it ends.
public struct StreamToken: Hashable, Sendable, CustomStringConvertible {
    /// The token itself: send it as `{"op":"auth","token":…}`, never in a URL.
    public let reveal: String
    /// When it ends; the gateway closes with 4105 then.
    public let expiresAt: Date

    /// Without the token, for logs.
    public var description: String { "StreamToken(redacted)" }

    /// Reads a token; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let end = Date(wireTime: wire.expiresAt)
        else { return nil }
        reveal = wire.token
        expiresAt = end
    }

    private struct Wire: Decodable {
        let token: String
        let expiresAt: String

        enum CodingKeys: String, CodingKey {
            case token
            case expiresAt = "expires_at"
        }
    }
}
