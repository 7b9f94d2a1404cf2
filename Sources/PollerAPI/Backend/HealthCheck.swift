/// A check of one external dependency, for `pollerctl doctor`.
package protocol HealthCheck: Sendable {
    /// A short, stable name, such as `redis.version`, `smtp` or `stripe.key`.
    var name: String { get }
    var subject: HealthSubject { get }

    /// Runs the check. It never throws, since a failure is a result, and is cancelled after 10 s.
    func run() async -> HealthResult
}

extension HealthCheck {
    /// The default, since most checks do not concern the store.
    package var subject: HealthSubject { .other }
}

/// The subject of a ``HealthCheck``, so that an unavailable store is reported once and not by each dependent check.
package enum HealthSubject: Sendable {
    /// Whether the store is reachable.
    case store
    /// A property that is read from the store.
    case inStore
    case other
}

/// Recommended actions that several places use.
package enum Remedy {
    /// The action for dead letters.
    package static let deadLetters =
        "check pollerctl delivery list --state dead and the attempts of a delivery, "
        + "then pollerctl delivery retry, or replay for a whole endpoint, or dismiss"
    /// The action for entries that have ended several processes.
    package static let setAside =
        "check pollerctl quarantine entries and the log for the trap; install a release "
        + "that handles them, then pollerctl quarantine redrive-entry, or dismiss-entry"
    /// The action for recipients that accept nothing.
    package static let failingReceivers =
        "check pollerctl delivery list --state failing, and the receiver's own log; its "
        + "deliveries wait and are retried, pollerctl delivery retry retries now"
    /// The action for accounts whose key is rejected.
    package static let revokedKey =
        "set a valid key for the account (STRIPE_API_KEY, or "
        + "accounts.NAME.stripe_api_key), then pollerctl lane resume LANE to continue now"
    /// The action for disabled endpoints.
    package static let disabledEndpoints =
        "run pollerctl endpoint test, and enable endpoints whose receiver has recovered"
}

package struct HealthResult: Hashable, Sendable {
    /// The severity.
    package enum Status: String, Hashable, Sendable {
        /// No problem.
        case ok
        /// Works, but needs attention.
        case warning
        /// A failure.
        case failed
    }

    package let status: Status
    /// The finding, one sentence without secrets.
    package let message: String
    /// The recommended action; `nil` if none is needed.
    package let action: String?

    package init(_ status: Status, _ message: String, action: String? = nil) {
        self.status = status
        self.message = message
        self.action = action
    }

    package static func ok(_ message: String) -> HealthResult { HealthResult(.ok, message) }

    package static func warning(_ message: String, action: String) -> HealthResult {
        HealthResult(.warning, message, action: action)
    }

    package static func failed(_ message: String, action: String) -> HealthResult {
        HealthResult(.failed, message, action: action)
    }
}
