/// A permission of a key.
///
/// Every route of the API and every command of `pollerctl` requires one of them; each route declares its own. Actions
/// that cost money, show a secret or create keys have separate ones.
package enum Scope: String, Hashable, Sendable, CaseIterable {
    /// Read watches, orders, their events, and the quarantine.
    case readWatches = "watches:read"
    /// Poll now, before the due time.
    case poll = "watches:poll"
    /// Watch sources, cancel, redrive.
    case writeWatches = "watches:write"
    /// Restore the lines of an archive.
    case restoreWatches = "watches:restore"
    /// Restore lines of an archive that this cluster has not signed.
    case trustArchives = "watches:trust"
    /// Request actions that move money: `charge`, `authorisation`, `abandoned` of a watch.
    case charge = "payments:charge"
    /// Submit a payer's code or account.
    case helpPayers = "payers:write"
    /// Subscribe to events: `/v1/events`, Server-Sent Events, WebSockets.
    case readEvents = "events:read"
    /// Create tokens for customers' browsers.
    case issueTokens = "streams:issue"
    case readEndpoints = "endpoints:read"
    /// Register, change, test, disable and remove endpoints; the secret of a new one is shown.
    case writeEndpoints = "endpoints:write"
    /// Read existing secrets: rotate, and the secret of inline webhooks.
    case readSecrets = "secrets:read"
    case readDeliveries = "deliveries:read"
    /// Retry a delivery.
    case retryDeliveries = "deliveries:retry"
    /// Send an endpoint its dead letters again, or everything since a time.
    case replay = "deliveries:replay"
    case readLanes = "lanes:read"
    /// Pause, resume and limit lanes.
    case writeLanes = "lanes:write"
    /// List suppressed recipients.
    case readMail = "mail:read"
    /// Report bounced emails, and lift suppressions.
    case writeMail = "mail:write"
    /// Read counts, processes and checks of the whole cluster.
    case readCluster = "cluster:read"
    /// Read the audit trail.
    case readAudit = "audit:read"
    /// List, create and revoke keys.
    case manageKeys = "keys:manage"

    /// Whether it concerns all accounts at once: a key that is bound to some never has it.
    ///
    /// A missing mailbox is missing for all accounts, so the list of them belongs to the cluster. A line of an archive
    /// without a digest of this cluster may claim anything, so only its operators may vouch for one.
    package var isOfCluster: Bool {
        switch self {
        case .readMail, .writeMail, .readCluster, .trustArchives: true
        case .readWatches, .poll, .writeWatches, .restoreWatches, .charge, .helpPayers, .readEvents,
            .issueTokens, .readEndpoints, .writeEndpoints, .readSecrets, .readDeliveries,
            .retryDeliveries, .replay, .readLanes, .writeLanes, .readAudit, .manageKeys:
            false
        }
    }
}

/// The role of a key; each includes the permissions of the previous one.
package enum KeyRole: String, Hashable, Sendable, CaseIterable {
    /// Reads everything and changes nothing.
    case viewer
    /// Helps payers: polls, submits codes, retries or dismisses deliveries, lifts email suppressions.
    case support
    /// Operates the cluster: watches, endpoints, lanes, replays.
    case `operator`
    /// Charges, reads secrets, creates keys and restores archives.
    case admin

    /// The permissions of the role.
    package var scopes: Set<Scope> {
        switch self {
        case .viewer:
            [
                .readWatches, .readEvents, .readEndpoints, .readDeliveries, .readLanes, .readMail,
                .readCluster,
            ]
        case .support:
            Self.viewer.scopes.union([.poll, .helpPayers, .retryDeliveries, .writeMail])
        case .operator:
            Self.support.scopes.union([
                .writeWatches, .writeEndpoints, .writeLanes, .replay, .issueTokens, .readAudit,
            ])
        case .admin: Set(Scope.allCases)
        }
    }
}
