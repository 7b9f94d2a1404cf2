/// One thing that a key may or may not do.
///
/// Every route of the API and every command of `pollerctl` needs one of them, and a route says itself
/// which. What costs money, shows a secret or makes keys has one of its own.
package enum Scope: String, Hashable, Sendable, CaseIterable {
    /// Read watches, orders, their events, the quarantine.
    case readWatches = "watches:read"
    /// Look now instead of when it is due.
    case poll = "watches:poll"
    /// Watch sources, cancel, redrive.
    case writeWatches = "watches:write"
    /// Put back what an archive has.
    case restoreWatches = "watches:restore"
    /// Put back lines of an archive that this cluster has not signed.
    case trustArchives = "watches:trust"
    /// Order what moves money: `charge`, `authorisation`, `abandoned` of a watch.
    case charge = "payments:charge"
    /// Hand in a payer's code or account.
    case helpPayers = "payers:write"
    /// Follow events: `/v1/events`, Server-Sent Events, WebSockets.
    case readEvents = "events:read"
    /// Make tokens for customers' browsers.
    case issueTokens = "streams:issue"
    case readEndpoints = "endpoints:read"
    /// Register, change, test, disable, remove endpoints; the secret of a new one is shown.
    case writeEndpoints = "endpoints:write"
    /// Be shown the secret of what is there: rotate, and the secret of inline webhooks.
    case readSecrets = "secrets:read"
    case readDeliveries = "deliveries:read"
    /// Send a delivery again.
    case retryDeliveries = "deliveries:retry"
    /// Send an endpoint again what was given up, or everything since a time.
    case replay = "deliveries:replay"
    case readLanes = "lanes:read"
    /// Pause, resume and limit lanes.
    case writeLanes = "lanes:write"
    /// Look who is sent no mail.
    case readMail = "mail:read"
    /// Report mails that came back, and send mails again.
    case writeMail = "mail:write"
    /// Counts, processes and checks of the whole cluster.
    case readCluster = "cluster:read"
    /// Look who changed what.
    case readAudit = "audit:read"
    /// List, make and revoke keys.
    case manageKeys = "keys:manage"

    /// Whether it is about all accounts at once: a key that is bound to some has it never.
    ///
    /// A mailbox that is gone is gone for everybody, so the list of them is the cluster's. A line of an archive
    /// without a digest of this cluster may claim anything, so only its operators vouch for one.
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

/// What somebody does who holds a key; each may do what the one before may.
package enum KeyRole: String, Hashable, Sendable, CaseIterable {
    /// Sees everything and changes nothing.
    case viewer
    /// Helps a payer: looks again, hands in codes, sends a delivery again or lets it rest, lifts that
    /// somebody gets no mails.
    case support
    /// Runs the place: watches, endpoints, lanes, replays.
    case `operator`
    /// Charges, sees secrets, makes keys and restores archives.
    case admin

    /// What it may do.
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
