import Hummingbird
import Poller
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// Routes of a single watch: create or join, list, read, wait, explain, poll now, cancel.
///
/// *Identity.* A watch is identified by account, source and kind, which the client knows in advance. A client that lost
/// the response repeats the request and joins the watch. If the watch has closed meanwhile, a repeat would restart it
/// and publish its events again. The stored `Idempotency-Key` prevents that.
///
/// *Waiting.* `after_seq` asks for later events. If the watch has later events, the response is sent at once. If it has
/// none, a request without `wait` gets a 304. A `seq` is used instead of an `ETag`, because it also shows how many
/// events were missed.
///
/// *Enqueuing* is one script call, which checks, writes and reads the watch for the response. Three things are not part
/// of that call:
///
/// - the count of open watches of an account with a limit (``OpenWatchLimit``), because the account's lanes are in
///   several partitions. It is repeated at most once a second while there is room.
/// - the order, which is in its own partition.
/// - the deliveries of an endpoint that joins a watch with events, which are in the second queue.
///
/// *After any other change* a second call reads the watch for the response, which may show a later change of another
/// request. A closed watch is distinguished from one that never existed: the 409 says to enqueue it again.
struct WatchRoutes {
    private static let enqueue = Route(
        .post,
        "/v1/watches",
        "enqueue",
        "Watch a source, or join its open watch",
        access: .key(.writeWatches),
        input: .traceparent,
        idempotency: .kept(whenFull: false),
        body: .json(.shape("NewWatch")),
        answers: [
            .ok("The source is watched already; the request was merged.", "Watch"),
            .json(201, "The source is now watched.", "Watch"),
        ],
        problems: [409],
        audit: .traffic("shops watch each payment; its events record the changes")
    ).brief
    private static let list = Route(
        .get,
        "/v1/watches",
        "listWatches",
        "List or search watches, newest first",
        """
        Watches are ordered by created_at, the latest first, with any filters; those in quarantine are ordered by \
        when they entered it. Watches added while you page do not shift the pages. In addition to the parameters \
        here, metadata.NAME=VALUE finds watches by their metadata, as q does. Indexed values are found at once: a \
        source, an order, a charge, an amount, and searchable metadata. Other searches read records, at most two \
        thousand for a page: looked is the number of records read, and next continues after them, even if the page \
        is empty. A search for the beginning of a word reads some thousands of words of the index for a page. Both \
        kinds of search run one at a time for each key, and count towards its rate.
        """,
        access: .key(.readWatches),
        input: .all(.search, .memory, .format) { (search: $0, isArchive: $1, format: $2) },
        answers: [.ok("A page of watches.", "WatchPage").alsoCSV]
    )
    private static let get = Route(
        .get,
        "/v1/watches/{source}",
        "getWatch",
        "Read one watch, or wait until it changes",
        access: .key(.readWatches),
        input: .all(
            .watch,
            .integer(
                "after_seq",
                "Responds only when the watch's seq is greater.",
                in: 0...Int.max
            ),
            .wait()
        ) { key, afterSeq, wait throws(Problem) in
            guard afterSeq != nil || wait == .zero else {
                throw Problem.parameter(
                    "wait",
                    "requires after_seq: the last seq you have, 0 for none."
                )
            }
            return (key: key, afterSeq: afterSeq, wait: wait)
        },
        answers: [
            .ok("The watch.", "Watch"),
            .notModified("No change after after_seq, including the wait."),
        ],
        problems: [404]
    ).brief
    private static let poll = Route(
        .post,
        "/v1/watches/{source}/poll",
        "pollWatch",
        "Poll now; an ended watch is reopened",
        """
        A watch that expired or whose source is gone is watched again for its original period. A watch that ended \
        with an answer is polled once for payment changes: a refund or a dispute is recorded, and the watch is \
        closed as before. A cancelled watch stays closed.
        """,
        access: .key(.poll),
        input: .watch,
        idempotency: .inherent("another poll changes nothing"),
        answers: [.json(202, "The watch is due now.", "Watch")],
        problems: [404, 409],
        audit: .traffic("a hint for each page that a customer opens; it changes nothing")
    ).brief
    private static let cancel = Route(
        .delete,
        "/v1/watches/{source}",
        "cancelWatch",
        "Cancel a watch",
        access: .key(.writeWatches),
        input: .watch,
        idempotency: .inherent("cancelling a cancelled watch succeeds"),
        answers: [.ok("The watch, closed.", "Watch")],
        problems: [404, 409]
    ).brief

    private static let explain = Route(
        .get,
        "/v1/watches/{source}/explain",
        "explainWatch",
        "Explain when a watch is polled next, and why",
        access: .key(.readWatches),
        input: .watch,
        answers: [.ok("The explanation.", "Explanation")],
        problems: [404]
    )

    let watches: any WatchStore
    let members: any Membership
    /// Returns the limit for lanes without a custom one.
    let laneLimit: @Sendable () -> PollerQueue.LaneLimit
    let enqueuer: Enqueuer
    let openWatches: OpenWatchLimit
    let deadlines: DeadlineForecast?
    let locator: (any SourceLocator)?
    let endpoints: EndpointBackend
    let reader: BodyReader
    let polls: LongPolls
    let scans: Scans
    /// Returns the current time, from which ages in a search are computed.
    let now: @Sendable () -> Timestamp
    let tracing: EnqueueTracing

    var routes: [AnsweredRoute] {
        [
            Self.enqueue.answered(by: enqueue), Self.list.answered(by: list),
            Self.get.answered(by: get), Self.poll.answered(by: poll),
            Self.cancel.answered(by: cancel), Self.explain.answered(by: explain),
        ]
    }

    private func enqueue(
        _ caller: TraceContext?,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        try await tracing.span(of: Self.enqueue.description, under: caller) { trace, facts in
            try await enqueue(request, context, in: trace, &facts)
        }
    }

    private func enqueue(
        _ request: Request,
        _ context: APIContext,
        in trace: TraceContext?,
        _ facts: inout SpanFacts
    ) async throws -> Response {
        let wanted = try await reader.object(WatchRequest.self, of: request)
        var new = try NewWatch(
            wanted,
            for: context.caller,
            locator: locator,
            endpoints: endpoints
        )
        new.options.trace = trace
        facts.add(new.key)
        if let refusal = try await openWatches.refusal(of: [new]) { throw Problem(refusal) }
        guard let result = try await enqueuer.enqueue([new], reading: true).first else {
            throw StoreError.corrupt("enqueue answered nothing")
        }
        if let problem = Problem(result, of: new) { throw problem }
        guard let snapshot = result.snapshot else { throw Problem.watchNotFound(new.key) }
        return Response(
            PollerWire.Watch(snapshot, outcome: result.outcome),
            status: result.outcome == .joined ? .ok : .created
        )
    }

    private func list(
        _ wanted: (search: WatchSearch, isArchive: Bool, format: ListFormat),
        _ context: APIContext
    ) async throws -> Response {
        let query = try wanted.search.query(among: watches.searchKeys, at: now())
        guard wanted.format == .json else {
            let csv = WatchCSV(metadata: watches.searchKeys.names)
            return try await WatchExport(scans: scans, csv: csv, recheck: context.recheck)
                .response(query, for: context.caller)
        }
        let page = try await scans.list(query, for: context.caller)
        return Response(
            page.wire(for: context) { snapshot in
                var wire = PollerWire.Watch(snapshot)
                if wanted.isArchive { wire.memory = WatchMemory(of: snapshot.watch).packed }
                return wire
            }
        )
    }

    private func get(
        _ input: (key: WatchKey, afterSeq: Int?, wait: Duration),
        _ context: APIContext
    ) async throws -> Response {
        let key = input.key
        guard let afterSeq = input.afterSeq else {
            guard let snapshot = try await watches.snapshot(of: key) else {
                throw Problem.watchNotFound(key)
            }
            return Response(PollerWire.Watch(snapshot))
        }
        let found = try await polls.first(
            within: input.wait,
            for: context.waiter,
            matching: Interest(in: .watch(key), afterSeq: afterSeq)
        ) { () async throws -> WatchSnapshot? in
            guard let snapshot = try await watches.snapshot(of: key) else {
                throw Problem.watchNotFound(key)
            }
            return snapshot.watch.seq > afterSeq ? snapshot : nil
        }
        guard let found else { return Response(status: .notModified) }
        return Response(PollerWire.Watch(found))
    }

    private func poll(_ key: WatchKey, _ context: APIContext) async throws -> Response {
        var isOpen = try await watches.hint(key)
        // The watch closed with a result: a manual poll checks for refunds and disputes.
        if !isOpen { isOpen = try await watches.hint(key, of: .money) }
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard isOpen else { throw Self.closed(snapshot) }
        await context.note("pollWatch", on: key, in: watches)
        return Response(PollerWire.Watch(snapshot), status: .accepted)
    }

    /// Cancels a watch.
    ///
    /// A cancelled watch succeeds, as the first response may have been lost.
    private func cancel(_ key: WatchKey, _ context: APIContext) async throws -> Response {
        let target = AuditTarget(.watch, key.source.description)
        let wasOpen = try await context.changes.attempt(target, of: key.account) {
            () throws(StoreError) in try await watches.cancel(key)
        }
        // Recorded at once, because the following reads may fail.
        if wasOpen {
            context.changes.recordAction(
                target,
                of: key.account,
                from: ["state": "open"],
                to: ["state": "closed", "closed_reason": ClosedReason.cancelled.rawValue]
            )
        } else {
            context.changes.recordUnchanged()
        }
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        guard wasOpen || snapshot.closed == .cancelled else { throw Self.closed(snapshot) }
        if wasOpen { await context.note("cancelWatch", on: key, in: watches) }
        return Response(PollerWire.Watch(snapshot))
    }

    private func explain(_ key: WatchKey, _ context: APIContext) async throws -> Response {
        let laneLimit = laneLimit()
        let explanation = try await watches.explain(key, limit: laneLimit)
        guard let explanation else { throw Problem.watchNotFound(key) }
        let acts = deadlines?.sentences(of: explanation.snapshot) ?? []
        let hasWorker = try await members.members().contains {
            $0.roleNames.contains("worker")
        }
        return Response(
            WatchExplanation(
                explanation,
                standard: laneLimit,
                hasWorker: hasWorker,
                acts: acts
            )
        )
    }

    private static func closed(_ snapshot: WatchSnapshot) -> Problem {
        Problem(
            .watchClosed,
            "The watch of \(snapshot.watch.key.source) is closed "
                + "(\(snapshot.closed?.rawValue ?? "just now")); enqueue it again to continue "
                + "watching."
        )
    }
}

extension Problem {
    /// Creates the problem of a source that is not watched.
    static func watchNotFound(_ key: WatchKey) -> Problem {
        Problem(
            .watchNotFound,
            "There is no watch of \(key.source) under account \(key.account); "
                + "enqueue it with POST /v1/watches, or name another account."
        )
    }
}

extension Problem {
    /// Creates the problem of a rejected request; `nil` if it was accepted.
    init?(_ result: EnqueueResult, of new: NewWatch) {
        guard case .refused(let refusal) = result.outcome else { return nil }
        switch refusal {
        case .tooManyURLs:
            let most = NewWatch.notifyKeptMax
            self = Problem(
                .invalidValue,
                "notify: this watch would have more than \(most) notify URLs, and "
                    + "nothing was changed. Register an endpoint instead: it receives the "
                    + "events of all watches of the account.",
                field: "notify"
            )
        case .otherOrder(let held):
            guard let order = new.order else { return nil }
            self = Problem.orderMismatch(new.key, held: held, named: order)
        case .notTried: return nil
        case .unreadable:
            self = Problem(
                .storeCorrupt,
                "The stored record of the watch of \(new.key.source) cannot be read. An operator must "
                    + "check the store. Give them the request_id of this response."
            )
        }
    }

    /// Creates the problem of a source that is watched for another order.
    static func orderMismatch(_ key: WatchKey, held: OrderID, named order: OrderID) -> Problem {
        Problem(
            .orderMismatch,
            "\(key.source) is watched for the order \(held), not \(order). Wait until "
                + "that watch has ended, or cancel it; then enqueue the source again.",
            field: "order"
        )
    }
}
