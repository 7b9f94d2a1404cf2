/// One thing the server needs from its surroundings and can look at, for `pollerctl doctor`.
package protocol HealthCheck: Sendable {
    /// Short and stable: `redis.version`, `smtp`, `stripe.key`.
    var name: String { get }

    /// Looks. Never throws: whatever happens is a result. Cut off after 10 s.
    func run() async -> HealthResult
}

/// What a ``HealthCheck`` saw.
package struct HealthResult: Hashable, Sendable {
    /// How bad it is.
    package enum Status: String, Hashable, Sendable {
        /// As it should be.
        case ok
        /// Works, but will hurt some day.
        case warning
        /// Something does not work.
        case failed
    }

    package let status: Status
    /// What was seen, one sentence, no secrets.
    package let message: String
    /// What to do about it; nil when nothing is to be done.
    package let action: String?

    /// Describes what was seen.
    package init(_ status: Status, _ message: String, action: String? = nil) {
        self.status = status
        self.message = message
        self.action = action
    }
}
