import Foundation
import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// Stored entries that have ended several processes and are no longer processed (``PoisonGuard``).
///
/// They belong to the cluster: an entry may be of any account, and redriving one that still ends its reader ends
/// processes that serve all accounts. So only keys with access to all accounts may list and change them.
struct SetAsideRoutes {
    private static let list = Route(
        .get,
        "/v1/quarantine/entries",
        "listSetAsideEntries",
        "List stored entries that crashed several processes",
        """
        Outbox events, upstream events, replays and other entries that background readers have set aside, oldest \
        first, all in one page. Watches are in /v1/quarantine.
        """,
        access: .key(.readCluster),
        answers: [.ok("All entries that are set aside.", "SetAsideEntryPage")],
        problems: [404]
    )
    private static let redrive = Route(
        .post,
        "/v1/quarantine/entries/{entry}/redrive",
        "redriveSetAsideEntry",
        "Process an entry again",
        """
        An outbox event is added again after the newest one. The watch of an upstream event is polled. Other \
        entries are processed when their reader reaches them. An entry that crashes more processes is set aside \
        again.
        """,
        access: .key(.writeWatches),
        input: .entry,
        idempotency: .inherent("an entry leaves the quarantine once"),
        answers: [.ok("The entry, which is no longer set aside.", "SetAsideEntry")],
        problems: [404]
    )
    private static let dismiss = Route(
        .post,
        "/v1/quarantine/entries/{entry}/dismiss",
        "dismissSetAsideEntry",
        "Dismiss an entry that is set aside",
        """
        An outbox event stays in the timeline of its watch, and recipients receive it with the watch's next event.
        """,
        access: .key(.writeWatches),
        input: .entry,
        idempotency: .inherent("an entry leaves the quarantine once"),
        answers: [.ok("The entry, which is no longer set aside.", "SetAsideEntry")],
        problems: [404]
    )

    let backend: APIBackend

    var routes: [AnsweredRoute] {
        [
            Self.list.answered(by: list), Self.redrive.answered(by: redrive),
            Self.dismiss.answered(by: dismiss),
        ]
    }

    private func list(_: Void, _ context: APIContext) async throws -> Response {
        Response(Page(try await suspectStore().setAsideEntries().map(\.wire)))
    }

    private func redrive(_ id: String, _ context: APIContext) async throws -> Response {
        let entry = try await end(id, isRedriven: true, context)
        // The event is before the sweep's cursor, so the watch is polled for its changes.
        if let key = entry.hintedWatch { _ = try await backend.watches.hint(key, of: .anything) }
        return Response(entry.wire)
    }

    private func dismiss(_ id: String, _ context: APIContext) async throws -> Response {
        Response(try await end(id, isRedriven: false, context).wire)
    }

    private func end(
        _ id: String,
        isRedriven: Bool,
        _ context: APIContext
    ) async throws -> PollerOperations.SetAsideEntry {
        let missing = Problem(.entryNotFound, "No entry \(id.prefix(64)) is set aside.")
        let store = try suspectStore()
        guard context.caller.accounts.isAll else { throw missing }
        let target = AuditTarget(.entry, id)
        let ended = try await context.changes.attempt(target, of: nil) {
            () throws(StoreError) in try await store.endSetAside(id, isRedriven: isRedriven)
        }
        guard let entry = ended else { throw missing }
        context.changes.recordAction(
            target,
            of: entry.account,
            from: ["state": "set_aside", "deaths": "\(entry.deaths)"],
            to: ["state": isRedriven ? "redriven" : "dismissed"]
        )
        return entry
    }

    private func suspectStore() throws(Problem) -> any SuspectStore {
        guard let store = backend.setAside else {
            throw Problem(.notFound, "This server has no entries that are set aside.")
        }
        return store
    }
}

extension RouteInput where Value == String {
    /// The entry in the path.
    fileprivate static var entry: Self {
        let segment = RouteInput<String>.segment(
            "entry",
            "The entry's id, such as outbox:3:1763629800125-0.",
            ["type": "string", "minLength": 1, "maxLength": 400]
        )
        return Self(segment.parameters) { values throws(Problem) in
            let text = try segment.read(values)
            return text.removingPercentEncoding ?? text
        }
    }
}
