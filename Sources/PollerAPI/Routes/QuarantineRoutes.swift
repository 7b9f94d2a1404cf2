import Hummingbird
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// Watches in quarantine, which need an operator.
///
/// They are closed watches, so the list is that of watches with a filter. Redriving a watch reopens it with its
/// original span. A hint reopens a watch whose responses were unreadable. A watch that ended its workers would do so
/// again, and waits for an operator. Dismissing removes a watch from quarantine, so that the list shows only watches
/// that need attention.
struct QuarantineRoutes {
    private static let list = Route(
        .get,
        "/v1/quarantine",
        "listQuarantine",
        "List the watches in quarantine",
        """
        Watches closed as dead: the upstream's responses could not be parsed repeatedly, or their polls crashed \
        the workers.
        """,
        access: .key(.readWatches),
        input: .list(.always(.quarantined)),
        answers: [
            .ok(
                "A page of watches, latest closed first. last_error is the reason.",
                "WatchPage"
            )
        ]
    )
    private static let redrive = Route(
        .post,
        "/v1/quarantine/{source}/redrive",
        "redrive",
        "Watch a quarantined source again, for its original period",
        access: .key(.writeWatches),
        input: .watch,
        idempotency: .inherent("an open watch stays open"),
        answers: [
            .ok(
                "The watch is open. Also returned if it was open already.",
                "Watch"
            )
        ],
        problems: [404, 409]
    )

    private static let dismiss = Route(
        .post,
        "/v1/quarantine/{source}/dismiss",
        "dismissWatch",
        "Remove a watch from quarantine permanently",
        """
        For a watch that is not worth polling again: it stays closed, as cancelled, and no longer causes warnings. \
        It is watched again when it is enqueued again.
        """,
        access: .key(.writeWatches),
        input: .watch,
        idempotency: .inherent("a dismissed watch stays closed"),
        answers: [
            .ok("The closed watch. Also returned if it was dismissed already.", "Watch")
        ],
        problems: [404, 409]
    )

    let backend: APIBackend
    let scans: Scans
    let statusCache: ClusterStatusCache

    var routes: [AnsweredRoute] {
        [
            Self.list.answered(by: list), Self.redrive.answered(by: redrive),
            Self.dismiss.answered(by: dismiss),
        ]
    }

    /// Lists the watches, the most recently closed first.
    private func list(_ query: ListQuery, _ context: APIContext) async throws -> Response {
        let page = try await scans.list(query, for: context.caller)
        return Response(page.wire(for: context) { PollerWire.Watch($0) })
    }

    /// Redrives a watch.
    ///
    /// An open watch succeeds, as the first response may have been lost.
    private func redrive(_ key: WatchKey, _ context: APIContext) async throws -> Response {
        let target = AuditTarget(.watch, key.source.description)
        let wasDead = try await context.changes.attempt(target, of: key.account) {
            () throws(StoreError) in try await backend.watches.redrive(key)
        }
        if wasDead {
            context.changes.recordAction(
                target,
                of: key.account,
                from: ["state": "closed", "closed_reason": ClosedReason.dead.rawValue],
                to: ["state": "open"]
            )
        } else {
            context.changes.recordUnchanged()
        }
        guard let snapshot = try await backend.watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard wasDead || snapshot.closed == nil else {
            throw Problem(
                .watchNotQuarantined,
                "The watch of \(key.source) is closed "
                    + "(\(snapshot.closed?.rawValue ?? "just now")) and not in quarantine; "
                    + "enqueue it again to continue watching."
            )
        }
        if wasDead {
            await context.note("redrive", on: key, in: backend.watches)
        }
        await statusCache.forget()
        return Response(PollerWire.Watch(snapshot))
    }

    /// Dismisses a watch.
    ///
    /// A cancelled watch succeeds, as the first response may have been lost.
    private func dismiss(_ key: WatchKey, _ context: APIContext) async throws -> Response {
        let target = AuditTarget(.watch, key.source.description)
        let wasDead = try await context.changes.attempt(target, of: key.account) {
            () throws(StoreError) in try await backend.watches.dismiss(key)
        }
        if wasDead {
            context.changes.recordAction(
                target,
                of: key.account,
                from: ["closed_reason": ClosedReason.dead.rawValue],
                to: ["closed_reason": ClosedReason.cancelled.rawValue]
            )
        } else {
            context.changes.recordUnchanged()
        }
        guard let snapshot = try await backend.watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard wasDead || snapshot.closed == .cancelled else {
            throw Problem(
                .watchNotQuarantined,
                "The watch of \(key.source) is \(snapshot.closed?.rawValue ?? "open") "
                    + "and not in quarantine; cancel ends an open watch."
            )
        }
        if wasDead {
            await context.note("dismissWatch", on: key, in: backend.watches)
        }
        await statusCache.forget()
        return Response(PollerWire.Watch(snapshot))
    }
}
