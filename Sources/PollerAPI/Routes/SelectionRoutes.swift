import Hummingbird
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// Actions on all watches that a search finds: poll, cancel, redrive, dismiss.
///
/// Each request processes one part, like a page of a list, so its work is bounded. A repeat of the first part would
/// find the watches of the second. So the `Idempotency-Key` is stored for actions that close or reopen watches.
/// `dry_run` counts without acting. The effect on each watch is that of its own route, so a watch that changes between
/// search and action is left unchanged.
struct SelectionRoutes {
    /// The watches per part, the same as a page.
    private static let partMax = 500
    /// The maximum number of watches listed individually in the audit trail.
    ///
    /// Beyond that only their number is recorded, so that one request does not push out the entries of a day.
    private static let namedMax = 20

    private static let poll = route(
        "poll",
        "pollWatches",
        "Poll all open watches that a search finds now",
        .poll,
        .inherent("another poll changes nothing"),
        .traffic("a hint, which changes nothing")
    )
    private static let cancel = route(
        "cancel",
        "cancelWatches",
        "Cancel all watches that a search finds",
        .writeWatches
    )
    private static let redrive = route(
        "redrive",
        "redriveWatches",
        "Redrive all quarantined watches that a search finds",
        .writeWatches
    )

    private static let dismiss = route(
        "dismiss",
        "dismissWatches",
        "Dismiss all quarantined watches that a search finds",
        .writeWatches
    )

    let watches: any WatchStore
    let scans: Scans
    let statusCache: ClusterStatusCache
    let reader: BodyReader
    /// Returns the current time, from which ages in a search are computed.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] {
        let watches = watches
        return [
            Self.poll.answered(
                by: handler("pollWatch", .open) { key throws(StoreError) in
                    try await watches.hint(key)
                }
            ),
            Self.cancel.answered(
                by: handler("cancelWatch", .open) { key throws(StoreError) in
                    try await watches.cancel(key)
                }
            ),
            Self.redrive.answered(
                by: handler("redrive", .quarantined) { key throws(StoreError) in
                    try await watches.redrive(key)
                }
            ),
            Self.dismiss.answered(
                by: handler("dismissWatch", .quarantined) { key throws(StoreError) in
                    try await watches.dismiss(key)
                }
            ),
        ]
    }

    private static func route(
        _ action: String,
        _ operation: String,
        _ summary: String,
        _ scope: Scope,
        _ idempotency: RouteIdempotency = .kept,
        _ audit: RouteAudit = .change
    ) -> Route<Void> {
        Route(
            .post,
            "/v1/watches/batch/\(action)",
            operation,
            summary,
            """
            At most \(partMax) watches a request: send next as cursor for the next part. With dry_run they are \
            only counted.
            """,
            access: .key(scope),
            idempotency: idempotency,
            body: .json(.shape("WatchSelection")),
            answers: [.ok("The result of this part.", "SelectionResult")],
            audit: audit
        )
    }

    /// Returns a handler that acts on each selected watch in a state.
    ///
    /// `deed` is the action in the watch's timeline.
    private func handler(
        _ deed: String,
        _ state: ListQuery.State,
        _ act: @escaping @Sendable (WatchKey) async throws(StoreError) -> Bool
    ) -> @Sendable (Void, Request, APIContext) async throws -> Response {
        { _, request, context in
            let selection = try await reader.object(WatchSelection.self, of: request)
            let query = try query(of: selection, state, context)
            let page = try await scans.list(query, for: context.caller)
            var result = SelectionResult()
            result.matched = page.items.count
            if context.caller.accounts.isAll { result.looked = page.looked }
            result.next = page.next.map { context.cursors.seal($0, for: context.caller) }
            guard selection.isDryRun != true else {
                context.changes.recordUnchanged()
                return Response(result)
            }
            var done: [WatchKey] = []
            do {
                for key in page.items.map(\.watch.key) {
                    let isDone = try await context.changes.attempt(
                        AuditTarget(.watch, key.source.description),
                        of: key.account
                    ) { () throws(StoreError) in try await act(key) }
                    guard isDone else { continue }
                    done.append(key)
                    await context.note(deed, on: key, in: watches)
                }
            } catch {
                // The actions completed before the error stay recorded.
                note(done, selection.words ?? "", context)
                await statusCache.forget()
                throw error
            }
            result.done = done.count
            note(done, selection.words ?? "", context)
            await statusCache.forget()
            return Response(result)
        }
    }

    /// Records the actions of a part in the audit trail.
    private func note(_ done: [WatchKey], _ words: String, _ context: APIContext) {
        if done.isEmpty { context.changes.recordUnchanged() }
        if done.count <= Self.namedMax {
            for key in done {
                let target = AuditTarget(.watch, key.source.description)
                context.changes.recordAction(
                    target,
                    of: key.account,
                    to: [AuditedChange.words: words]
                )
            }
        } else {
            for (account, keys) in Dictionary(grouping: done, by: \.account) {
                context.changes.recordAction(
                    AuditTarget(.watch, "\(keys.count) watches"),
                    of: account,
                    to: [AuditedChange.words: words]
                )
            }
        }
    }

    private func query(
        of selection: WatchSelection,
        _ state: ListQuery.State,
        _ context: APIContext
    ) throws(Problem) -> ListQuery {
        let words = selection.words ?? ""
        guard words.contains(where: { !$0.isWhitespace }) else {
            throw Problem.missing(
                "q",
                "is required: a search, such as order=A77; state=open for all."
            )
        }
        let account = try Problem.checked { () throws(InvalidInput) in
            try selection.account.map { text throws(InvalidInput) in try AccountID(text) }
        }
        var cursor: String?
        if let text = selection.cursor {
            cursor = context.cursors.open(text, for: context.caller)
            guard cursor != nil else {
                throw Problem.value(
                    "cursor",
                    "is invalid: use next of the previous part, unchanged."
                )
            }
        }
        let base = ListQuery(
            state: state,
            accounts: context.caller.accounts.narrowed(to: account),
            limit: Self.partMax,
            cursor: cursor
        )
        return try WatchSearch(base: base, text: words, metadata: [])
            .query(among: watches.searchKeys, at: now())
    }
}
