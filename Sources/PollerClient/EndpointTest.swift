#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an endpoint did with a test event.
public struct EndpointTest: Hashable, Sendable {
    /// Whether it accepted.
    public let isDelivered: Bool
    /// `ok`, `timeout`, `tls`, `server_error` and so on.
    public let kind: String
    /// The HTTP or SMTP status; nil without an answer.
    public let code: Int?
    /// The address that was connected.
    public let address: String?
    /// All in all.
    public let durationMs: Int?
    /// What was wrong; nil when nothing was.
    public let reason: String?
    /// The result as the server sent it.
    public let json: String

    /// Reads a result; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)) else {
            return nil
        }
        isDelivered = wire.delivered
        kind = wire.class
        code = wire.code
        address = wire.address
        durationMs = wire.durationMs
        reason = wire.reason
        self.json = json
    }

    private struct Wire: Decodable {
        let delivered: Bool
        let `class`: String
        let code: Int?
        let address: String?
        let durationMs: Int?
        let reason: String?

        enum CodingKeys: String, CodingKey {
            case delivered, `class`, code, address, reason
            case durationMs = "duration_ms"
        }
    }
}
