/// One thing the server needs from its surroundings and can look at, for `pollerctl doctor`.
package protocol HealthCheck: Sendable {
    /// Short and stable: `redis.version`, `smtp`, `stripe.key`.
    var name: String { get }
    /// What it looks at.
    var subject: HealthSubject { get }

    /// Looks. Never throws: whatever happens is a result. Cut off after 10 s.
    func run() async -> HealthResult
}

extension HealthCheck {
    /// Most look at something beside the store.
    package var subject: HealthSubject { .other }
}

/// What a ``HealthCheck`` looks at: a store that is away is told once, not by all that need it.
package enum HealthSubject: Sendable {
    /// Whether the store can be reached at all.
    case store
    /// Something that the store must be asked for.
    case inStore
    case other
}

/// What to do about things that more than one place tells of.
package enum Remedy {
    /// About deliveries that gave up an event.
    package static let deadLetters =
        "see pollerctl delivery list --state dead and the attempts of one, then "
        + "pollerctl delivery retry, or replay for a whole endpoint, or dismiss"
    /// About entries that have ended several processes.
    package static let setAside =
        "see pollerctl quarantine entries and the log for the trap; install a release that handles them, then "
        + "pollerctl quarantine redrive-entry, or dismiss-entry"
    /// The remedy for receivers that accept nothing.
    package static let failingReceivers =
        "see pollerctl delivery list --state failing, and the receiver's own log; its deliveries wait and are tried "
        + "again, pollerctl delivery retry tries at once"
    /// The remedy for accounts whose key is refused.
    package static let revokedKey =
        "give the account a key that is valid (STRIPE_API_KEY, or accounts.NAME.stripe_api_key), then pollerctl lane "
        + "resume LANE to go on at once"
    /// About endpoints that are disabled.
    package static let disabledEndpoints =
        "pollerctl endpoint test and enable those whose receiver is back"
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
