#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
