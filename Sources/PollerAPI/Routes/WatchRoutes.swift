import Hummingbird
import Poller

/// One watch at a time: create or join, list, read, wait, poll now, cancel.
struct WatchRoutes {
    let watches: any WatchStore
    let enqueuer: Enqueuer
    let locator: (any SourceLocator)?
    let reader: BodyReader
    let polls: LongPolls

    func add(to router: Router<APIContext>) {
        router.add(.enqueue, enqueue)
        router.add(.listWatches, list)
        router.add(.getWatch, get)
        router.add(.pollWatch, poll)
        router.add(.cancelWatch, cancel)
    }

    @Sendable
    private func enqueue(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        try BodyReader.checkIdempotencyKey(request)
        try BodyReader.checkType(request, allowed: ["application/json"])
        let new = try NewWatch(json: try await reader.json(request), locator: locator)
        let results = try await enqueuer.enqueue([new])
        guard let result = results.first else {
            throw StoreError.corrupt("enqueue answered nothing")
        }
        guard let snapshot = try await watches.snapshot(of: new.key) else {
            throw Problem.watchNotFound(new.key)
        }
        return Response(
            json: snapshot.json(outcome: result.outcome),
            status: result.outcome == .joined ? .ok : .created
        )
    }

    @Sendable
    private func list(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(
            request,
            allowed: ["state", "status", "account", "kind", "limit", "cursor"]
        )
        return Response(json: try await watches.list(try ListQuery(query)).json { $0.json() })
    }

    @Sendable
    private func get(_ request: Request, _ context: APIContext) async throws -> Response {
        let query = try QueryParameters(
            request,
            allowed: ["account", "kind", "after_seq", "wait"]
        )
        let key = try context.watchKey(query)
        let wait = try query.wait()
        guard let afterSeq = try query.integer("after_seq", in: 0...Int.max) else {
            guard wait == .zero else {
                throw Problem(
                    .invalidParameter,
                    "wait needs after_seq: the seq you have seen last, 0 for none.",
                    field: "wait"
                )
            }
            guard let snapshot = try await watches.snapshot(of: key) else {
                throw Problem.watchNotFound(key)
            }
            return Response(json: snapshot.json())
        }
        let found = try await polls.first(within: wait, for: context.waiter) { entry in
            entry.event.key.id == key.id && entry.event.seq > afterSeq
        } read: { () async throws -> WatchSnapshot? in
            guard let snapshot = try await watches.snapshot(of: key) else {
                throw Problem.watchNotFound(key)
            }
            return snapshot.watch.seq > afterSeq ? snapshot : nil
        }
        guard let found else { return Response(status: .notModified) }
        return Response(json: found.json())
    }

    @Sendable
    private func poll(_ request: Request, _ context: APIContext) async throws -> Response {
        let key = try context.watchKey(try QueryParameters(request, allowed: ["account", "kind"]))
        try BodyReader.checkIdempotencyKey(request)
        let isOpen = try await watches.hint(key)
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard isOpen else { throw Self.closed(snapshot) }
        return Response(json: snapshot.json(), status: .accepted)
    }

    /// Cancelling what is cancelled already succeeds: the answer to the first try got lost.
    @Sendable
    private func cancel(_ request: Request, _ context: APIContext) async throws -> Response {
        let key = try context.watchKey(try QueryParameters(request, allowed: ["account", "kind"]))
        let wasOpen = try await watches.cancel(key)
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard wasOpen || snapshot.closed == .cancelled else { throw Self.closed(snapshot) }
        return Response(json: snapshot.json())
    }

    private static func closed(_ snapshot: WatchSnapshot) -> Problem {
        Problem(
            .watchClosed,
            "The watch of \(snapshot.watch.key.source) is closed "
                + "(\(snapshot.closed?.rawValue ?? "just now")); enqueue it again to watch on."
        )
    }
}

extension APIContext {
    /// The watch that the path and the parameters `account` and `kind` name.
    func watchKey(_ query: QueryParameters) throws(Problem) -> WatchKey {
        let text = parameters.get("source") ?? ""
        let source = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try SourceID(text)
        }
        return WatchKey(
            account: try query.checked("account") { text throws(InvalidInput) in
                try AccountID(text)
            } ?? .main,
            source: source,
            kind: try SourceKind(named: query.text("kind"), of: source, code: .invalidParameter)
        )
    }
}

extension Problem {
    /// "Nobody watches it", with what to do.
    static func watchNotFound(_ key: WatchKey) -> Problem {
        Problem(
            .watchNotFound,
            "There is no watch of \(key.source) under account \(key.account); "
                + "enqueue it with POST /v1/watches, or name another account."
        )
    }
}
