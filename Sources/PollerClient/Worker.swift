#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A process that works on the cluster, as it announced itself last.
public struct Worker: Hashable, Sendable {
    /// As ``WatchExplanation`` names the holder of a watch; new at each start.
    public let id: String
    /// `worker`, `notifier`, `api`: one or more.
    public let roles: [String]
    /// The machine's name.
    public let host: String
    /// The operating system's process id.
    public let pid: Int
    /// The version it runs.
    public let version: String
    /// When it started.
    public let startedAt: Date
    /// Items in its hands.
    public let inFlight: Int
    /// The process as the server sent it.
    public let json: String

    /// Reads a process; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let startedAt = Date(wireTime: wire.startedAt)
        else { return nil }
        id = wire.id
        roles = wire.roles
        host = wire.host
        pid = wire.pid
        version = wire.version
        self.startedAt = startedAt
        inFlight = wire.inFlight
        self.json = json
    }

    private struct Wire: Decodable {
        let id: String
        let roles: [String]
        let host: String
        let pid: Int
        let version: String
        let startedAt: String
        let inFlight: Int

        enum CodingKeys: String, CodingKey {
            case id, roles, host, pid, version
            case startedAt = "started_at"
            case inFlight = "in_flight"
        }
    }
}
