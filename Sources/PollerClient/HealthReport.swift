/// What the server's checks of its surroundings saw.
public struct HealthReport: Hashable, Sendable, Codable {
    /// Whether no check failed.
    public let healthy: Bool
    /// One for each thing the server depends on.
    public let checks: [Check]

    /// What one check saw.
    public struct Check: Hashable, Sendable, Codable {
        /// Short and stable: `redis.version`, `smtp`.
        public let name: String
        /// `ok`, `warning` or `failed`.
        public let status: String
        /// What was seen.
        public let message: String
        /// What to do about it; nil when nothing is to be done.
        public let action: String?
    }
}
