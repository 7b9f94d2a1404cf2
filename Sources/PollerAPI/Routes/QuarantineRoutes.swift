import Hummingbird
import Poller
import PollerIdentity
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
        "List the watches that a person must look at",
        """
        Watches closed as dead: the upstream's answers could not be understood again and again, or \
        their polls took the worker down.
        """,
        access: .key(.readWatches),
        input: .list(.always(.quarantined)),
        answers: [
            .ok(
                "A page of watches, those closed last first; last_error says why.",
                "WatchPage"
            )
        ]
    )
    private static let redrive = Route(
        .post,
        "/v1/quarantine/{source}/redrive",
        "redrive",
        "Watch a quarantined source again, with the span it had at first",
        access: .key(.writeWatches),
        input: .watch,
        repeats: .byNature("what is open already stays open"),
        answers: [
            .ok(
                "The watch is open; it also was when it is not in quarantine any more.",
                "Watch"
            )
        ],
        problems: [404, 409]
    )

    private static let dismiss = Route(
        .post,
        "/v1/quarantine/{source}/dismiss",
        "dismissWatch",
        "Take a watch out of quarantine for good",
        """
        For what is not worth watching again: it stays closed, as cancelled, and warns nobody any more. \
        Enqueued anew it is watched again.
        """,
        access: .key(.writeWatches),
        input: .watch,
        repeats: .byNature("what is dismissed already stays closed"),
        answers: [
            .ok("The watch, closed; it also was when it is not in quarantine any more.", "Watch")
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
    @Sendable
    private func list(
        _ query: ListQuery,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let page = try await scans.list(query, for: context.caller)
        return Response(page.wire(for: context) { PollerWire.Watch($0) })
    }

    /// Redrives a watch.
    ///
    /// An open watch succeeds, as the first response may have been lost.
    @Sendable
    private func redrive(
        _ key: WatchKey,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let wasDead = try await backend.watches.redrive(key)
        if wasDead {
            context.changes.did(
                AuditTarget(.watch, key.source.description),
                of: key.account,
                from: ["state": "closed", "closed_reason": ClosedReason.dead.rawValue],
                to: ["state": "open"]
            )
        } else {
            context.changes.nothing()
        }
        guard let snapshot = try await backend.watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard wasDead || snapshot.closed == nil else {
            throw Problem(
                .watchNotQuarantined,
                "The watch of \(key.source) is closed (\(snapshot.closed?.rawValue ?? "just now")) "
                    + "and not in quarantine; enqueue it again to watch on."
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
    @Sendable
    private func dismiss(
        _ key: WatchKey,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let wasDead = try await backend.watches.dismiss(key)
        if wasDead {
            context.changes.did(
                AuditTarget(.watch, key.source.description),
                of: key.account,
                from: ["closed_reason": ClosedReason.dead.rawValue],
                to: ["closed_reason": ClosedReason.cancelled.rawValue]
            )
        } else {
            context.changes.nothing()
        }
        guard let snapshot = try await backend.watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard wasDead || snapshot.closed == .cancelled else {
            throw Problem(
                .watchNotQuarantined,
                "The watch of \(key.source) is \(snapshot.closed?.rawValue ?? "open") and not in "
                    + "quarantine; cancel ends one that is open."
            )
        }
        if wasDead {
            await context.note("dismissWatch", on: key, in: backend.watches)
        }
        await statusCache.forget()
        return Response(PollerWire.Watch(snapshot))
    }
}
