import Hummingbird
import PollerIdentity
import PollerOperations
import PollerWire

/// The audit trail.
///
/// A caller bound to accounts sees the changes of its own objects, and neither names nor addresses of other accounts'
/// keys (``AuditEntry/visible(to:)``).
struct AuditRoutes {
    private static let list = Route(
        .get,
        "/v1/audit",
        "listChanges",
        "List changes with their author, newest first",
        """
        Every change by a key, the configuration file or the system, and every rejected request of a key, at most \
        once a minute each. The newest 20,000 are kept, for at most 400 days; the log contains each at level info. \
        A page may be empty and still have a next one.
        """,
        access: .key(.readAudit),
        input: .all(
            .text("by", "Changes by this key, by name or ID."),
            .text("action", "Changes by this operation, named as in this description."),
            .text(
                "target",
                "Changes of this watch, endpoint, lane or key, by its ID; of an "
                    + "endpoint also by its name."
            ),
            .query(AccountID.self, "account", "Changes of this account.", .name(64)),
            .time("since", "Changes at or after this time."),
            .time("until", "Changes before this time."),
            .limit("Changes per page."),
            .cursor()
        ) { by, action, target, account, since, until, limit, cursor in
            var query = AuditQuery()
            (query.by, query.action, query.target) = (by, action, target)
            (query.account, query.since, query.until) = (account, since, until)
            (query.limit, query.cursor) = (limit, cursor)
            return query
        },
        answers: [.ok("A page of changes.", "AuditEntryPage")],
        problems: [404]
    )

    let trail: (any AuditTrail)?
    let gate: ScanGate

    var routes: [AnsweredRoute] { [Self.list.answered(by: list)] }

    private func list(_ query: AuditQuery, _ context: APIContext) async throws -> Response {
        guard let trail else { throw Problem(.notFound, "This server has no audit log.") }
        var query = query
        query.accounts = context.caller.accounts
        let found = try await page(of: trail, query, for: context.caller)
        return Response(found.wire(for: context) { PollerWire.AuditEntry($0) })
    }

    /// Returns a page that does not depend on the number of other accounts' changes.
    ///
    /// A bound key may read the whole trail for a page, so its requests take turns.
    private func page(
        of trail: any AuditTrail,
        _ query: AuditQuery,
        for caller: Caller
    ) async throws -> ListPage<PollerOperations.AuditEntry> {
        guard !query.accounts.isAll else { return try await trail.entries(query) }
        return try await gate.run(for: caller.name) {
            var page = try await trail.entries(query)
            while page.items.count < query.limit, let next = page.next {
                var rest = query
                (rest.cursor, rest.limit) = (next, query.limit - page.items.count)
                let more = try await trail.entries(rest)
                page = ListPage(items: page.items + more.items, next: more.next)
            }
            return page
        }
    }
}

extension RouteInput where Value == Timestamp? {
    /// Reads an instant; `nil` if the parameter is absent.
    fileprivate static func time(_ name: String, _ description: String) -> Self {
        reading(name, description, .shape("Time")) { text throws(Problem) in
            guard let text else { return nil }
            guard let time = Time(text) else {
                throw Problem.parameter(name, "must be a time such as 2026-11-20T09:30:00.125Z.")
            }
            return Timestamp(ms: time.ms)
        }
    }
}

extension PollerWire.AuditEntry {
    /// Creates the API representation of an entry.
    init(_ entry: PollerOperations.AuditEntry) {
        self.init()
        let change = entry.change
        id = entry.id
        at = Time(entry.at)
        by = change.by.name
        key = change.by.key?.description
        role = change.by.role.map { Open(rawValue: $0.rawValue) }
        address = change.address
        request = change.request
        action = change.action
        target = Target {
            $0.kind = change.target.kind.rawValue
            $0.id = change.target.id
            $0.name = change.target.name
        }
        account = change.account?.description
        beforeJSON = change.before
        afterJSON = change.after
        refused = change.refused
    }
}
