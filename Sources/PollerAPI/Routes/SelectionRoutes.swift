import Hummingbird
import Poller
import PollerIdentity
import PollerWire

/// Something done with all watches that a search finds: look now, cancel, redrive, dismiss.
///
/// A part at a time, as lists are read: what a request does is bounded. The first part sent again would find
/// what the first time has left, which is the second: so the `Idempotency-Key` of what ends or begins
/// watches is kept. Whoever wants to know before counts first, with
/// `dry_run`. What happens to each is what its own route does, so a watch that changes between the
/// search and the deed is left alone.
struct SelectionRoutes {
    /// Watches of a part: as many as a page has.
    private static let partMax = 500
    /// Watches of a part that are named in the audit trail one by one; of more their number is told, so
    /// that one request does not push a day of others out of it.
    private static let namedMax = 20

    private static let poll = route(
        "poll",
        "pollWatches",
        "Look at all open watches that a search finds, now",
        .poll,
        .byNature("a second look changes nothing"),
        .traffic("a hint, and nothing is changed by it")
    )
    private static let cancel = route(
        "cancel",
        "cancelWatches",
        "Stop watching all that a search finds",
        .writeWatches
    )
    private static let redrive = route(
        "redrive",
        "redriveWatches",
        "Watch all again that a search finds in quarantine",
        .writeWatches
    )

    private static let dismiss = route(
        "dismiss",
        "dismissWatches",
        "Take all out of quarantine for good that a search finds there",
        .writeWatches
    )

    let watches: any WatchStore
    let scans: Scans
    let statusCache: ClusterStatusCache
    let reader: BodyReader
    /// What ages in a search are counted from.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] {
        let watches = watches
        return [
            Self.poll.answered(
                by: doing("pollWatch", .open) { try await watches.hint($0) }
            ),
            Self.cancel.answered(
                by: doing("cancelWatch", .open) { try await watches.cancel($0) }
            ),
            Self.redrive.answered(
                by: doing("redrive", .quarantined) { try await watches.redrive($0) }
            ),
            Self.dismiss.answered(
                by: doing("dismissWatch", .quarantined) { try await watches.dismiss($0) }
            ),
        ]
    }

    private static func route(
        _ action: String,
        _ operation: String,
        _ summary: String,
        _ scope: Scope,
        _ repeats: RouteRepeats = .kept,
        _ audit: RouteAudit = .change
    ) -> Route<Void> {
        Route(
            .post,
            "/v1/watches/batch/\(action)",
            operation,
            summary,
            """
            At most \(partMax) watches a request: send next as cursor for the others. With dry_run they are \
            counted, and nothing is done.
            """,
            access: .key(scope),
            repeats: repeats,
            body: .json(.shape("WatchSelection")),
            answers: [.ok("What became of this part.", "SelectionResult")],
            audit: audit
        )
    }

    /// Does something with each watch of a state that is selected; `deed` is what one is told it was.
    private func doing(
        _ deed: String,
        _ state: ListQuery.State,
        _ act: @escaping @Sendable (WatchKey) async throws -> Bool
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
                context.changes.nothing()
                return Response(result)
            }
            var done: [WatchKey] = []
            do {
                for snapshot in page.items where try await act(snapshot.watch.key) {
                    done.append(snapshot.watch.key)
                    await context.note(deed, on: snapshot.watch.key, in: watches)
                }
            } catch {
                // What was done before is done, whatever has ended the rest.
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

    /// What the audit trail is told of a part.
    private func note(_ done: [WatchKey], _ words: String, _ context: APIContext) {
        if done.isEmpty { context.changes.nothing() }
        if done.count <= Self.namedMax {
            for key in done {
                let target = AuditTarget(.watch, key.source.description)
                context.changes.did(target, of: key.account, to: [AuditedChange.words: words])
            }
        } else {
            for (account, keys) in Dictionary(grouping: done, by: \.account) {
                context.changes.did(
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
            throw Problem(
                .missingField,
                "q is required: the words of a search, such as order=A77; state=open for all.",
                field: "q"
            )
        }
        let account = try Problem.checked { () throws(InvalidInput) in
            try selection.account.map { text throws(InvalidInput) in try AccountID(text) }
        }
        var cursor: String?
        if let text = selection.cursor {
            cursor = context.cursors.open(text, for: context.caller)
            guard cursor != nil else {
                throw Problem(
                    .invalidValue,
                    "cursor is not one of ours: use next of the part before, unchanged.",
                    field: "cursor"
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
