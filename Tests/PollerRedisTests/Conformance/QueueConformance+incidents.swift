import PollerDeliveries
import PollerIdentity
import PollerIncidents
import PollerPayments
import PollerQueue
import PollerRedis
import PollerTesting
import PollerWatches

extension QueueConformance {
    /// The incidents, and the claim to check for them.
    static let incidents: [ConformanceCase] = [
        Case("one process at a time checks for incidents, with a pause after each check") { bench in
            let first = try bench.some(try await bench.look(), "the first check")
            try equal(first.board, IncidentBoard(), "a new cluster's board")
            let second = try await bench.look(ConformanceBench.bert)
            try equal(second, nil, "a check during another one")
            try bench.expect(try await bench.end(first), "the end of the check was rejected")
            try equal(try await bench.look(), nil, "a check during the pause")
            try await bench.advance(ms: 3000)
            let next = try bench.some(try await bench.look(), "a check after the pause")
            try equal(next.turn, first.turn + 1, "the number of the check")
            try equal(next.now - first.now, .seconds(3), "the time between the checks")
        },
        Case("one of many simultaneous requests gets the check for incidents") { bench in
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<12 { group.addTask { try await bench.look() != nil } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            try equal(taken, 1, "granted checks")
        },
        Case("an abandoned check passes to another process, and its late result is rejected") {
            bench in
            let left = try bench.some(try await bench.look(), "the check of a crashed process")
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let look = try bench.some(try await bench.look(ConformanceBench.bert), "the next check")
            let (board, changed) = bench.decide(look, [.noWorker])
            try bench.expect(
                !(try await bench.end(left, board, changed)),
                "the late result was accepted"
            )
            try equal(
                try await bench.redis.incidents.incidents().open,
                [],
                "incidents of the late result"
            )
            try bench.expect(
                try await bench.end(look, board, changed),
                "the result of the next check was rejected"
            )
            try bench.expect(
                !(try await bench.end(left, board, changed)),
                "the late result was accepted afterwards"
            )
            try equal(try await bench.redis.incidents.incidents().open, changed, "open incidents")
        },
        Case("a reported incident is on the board, in its log and in the outbox, once each") {
            bench in
            let look = try bench.some(try await bench.look(), "the first check")
            let (board, changed) = bench.decide(look, [.noWorker, .quarantine])
            try bench.expect(try await bench.end(look, board, changed), "the result was rejected")
            let closed = try await bench.watches.stats().closed
            try equal(closed, 0, "closed watches")
            let incident = try bench.some(changed.last, "an incident")
            let list = try await bench.redis.incidents.incidents()
            try equal(list, IncidentList(open: changed, resolved: []), "open")
            let over = try await bench.over(after: look, board)
            try equal(over.map(\.id), changed.map(\.id), "resolved incidents")
            let later = try await bench.redis.incidents.incidents()
            try equal(later, IncidentList(open: [], resolved: over.reversed()), "later")
            let log = try await bench.watches.events(of: incident.key, after: 0, limit: 10)
            let published = [incident.event, over.last?.event].compactMap(\.self)
            try equal(log, published, "the log")
            try equal(log.map(\.seq), [1, 2], "seq")
            let entries = try await bench.entries(of: incident.key)
            try equal(entries.map(\.event), (changed + over).map(\.event), "the outbox")
            try bench.expect(entries.allSatisfy(\.notify.isEmpty), "an incident has endpoint URLs")
        },
        Case(
            "the board is read as stored, including incidents that are not reported yet"
        ) { bench in
            let look = try bench.some(try await bench.look(), "the first check")
            var board = look.board
            let changed = board.note(bench.seen([.laneStopped]), at: look.now, hold: .seconds(60))
            try equal(changed, [], "incidents reported at once")
            try bench.expect(try await bench.end(look, board, []), "the result was rejected")
            try await bench.advance(ms: 3000)
            let next = try bench.some(try await bench.look(ConformanceBench.bert), "the next check")
            try equal(next.board, board, "the board")
        },
        Case("an incident is no watch: it is never due, listed or reopened") { bench in
            let look = try bench.some(try await bench.look(), "the first check")
            let (board, changed) = bench.decide(look, [.noWorker])
            _ = try await bench.end(look, board, changed)
            let key = try bench.some(changed.first, "an incident").key
            try equal(try await bench.due(key), [], "due")
            for state in [nil, ListQuery.State.closed] {
                let page = try await bench.watches.list(ListQuery(state: state))
                try equal(page.items.map(\.watch.key), [], "the watches")
            }
            let orders = try await bench.redis.orders.orders(OrderQuery(account: key.account))
            try equal(orders.items.count, 0, "the orders")
            try bench.expect(!(try await bench.watches.hint(key)), "a hint reopened the incident")
            try bench.expect(!(try await bench.watches.cancel(key)), "the incident was cancelled")
            try bench.expect(!(try await bench.watches.redrive(key)), "the incident was redriven")
            let snapshot = try await bench.snapshot(key)
            try equal(snapshot.watch.state.status?.description, "open", "its status")
        },
        Case("the end of an incident is recorded even if it was open beyond the retention") {
            bench in
            let look = try bench.some(try await bench.look(), "the first check")
            let (board, changed) = bench.decide(look, [.noWorker])
            _ = try await bench.end(look, board, changed)
            let key = try bench.some(changed.first, "an incident").key
            let home = bench.partition(of: key)
            _ = try await bench.claim(in: home)
            try await bench.advance(ms: 5000)
            while try await bench.watches.purge(partition: home, retention: .seconds(2)) {}
            try equal(try await bench.watches.snapshot(of: key) == nil, true, "purged")
            let over = try await bench.over(after: look, board)
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try equal(log, over.map(\.event), "the log")
            try equal(log.map(\.seq), [2], "seq")
        },
        Case("the newest hundred resolved incidents are kept") { bench in
            let look = try bench.some(try await bench.look(), "the first check")
            var board = look.board
            var over: [Incident] = []
            for second in 0..<IncidentList.resolvedMax + 3 {
                let now = look.now + .seconds(second)
                _ = board.note(bench.seen([.noWorker]), at: now, hold: .zero)
                over += board.note(bench.seen([]), at: now, hold: .zero)
            }
            _ = try await bench.end(look, board, over)
            let kept = try await bench.redis.incidents.incidents().resolved
            try equal(kept, over.suffix(IncidentList.resolvedMax).reversed(), "kept")
        },
    ]

    /// The endpoints with dead letters.
    static let deadLetters: [ConformanceCase] = [
        Case("endpoints with dead letters are found with count and newest delivery") { bench in
            func bury(_ mark: DeliveryMark) async throws -> DeliveryID {
                try await bench.deliveries.mark([mark])
                let state = DeliveryState(cursor: 1, dead: [1])
                try await bench.end(try await bench.take(mark), .setAside, state: state)
                try await bench.advance(ms: 10)
                return bench.deliveries.id(of: mark.endpoint, mark.watch)
            }
            let none = try await bench.deliveries.deadLetters(limit: 10)
            try equal(none, DeadLetters(), "without dead letters")
            let a = try bench.mark("1", "a.example").endpoint
            let b = try bench.mark("1", "b.example").endpoint
            _ = try await bury(try bench.mark("1", "a.example"))
            let newest = try await bury(try bench.mark("2", "a.example"))
            let other = try await bury(try bench.mark("1", "b.example"))
            let all = try await bench.deliveries.deadLetters(limit: 10)
            try equal(all.endpoints.mapValues(\.count), [a: 2, b: 1], "dead letters per endpoint")
            try equal(all.endpoints[a]?.newest, newest, "the newest delivery of the first endpoint")
            try equal(all.endpoints[b]?.newest, other, "the newest delivery of the other endpoint")
            try bench.expect(all.isWhole, "the result is incomplete")
            let some = try await bench.deliveries.deadLetters(limit: 1)
            try bench.expect(!some.isWhole, "the limited result is complete")
            try equal(some.endpoints[a]?.count ?? 1, 1, "dead letters within the limit")
            try await bench.deliveries.mark([try bench.mark("1", "b.example")])
            let later = try await bench.deliveries.deadLetters(limit: 10)
            try equal(
                later.endpoints.mapValues(\.count),
                [a: 2],
                "dead letters after one delivery resumed"
            )
        }
    ]
}

extension ConformanceBench {
    func look(_ owner: OwnerID = anna) async throws -> IncidentCheck? {
        try await redis.incidents.beginCheck(owner, for: Self.lease)
    }

    /// Ends a check with a pause of 3 s.
    func end(
        _ look: IncidentCheck,
        _ board: IncidentBoard? = nil,
        _ changed: [Incident] = []
    ) async throws -> Bool {
        try await redis.incidents.endCheck(
            look,
            board: board ?? look.board,
            reporting: changed,
            pause: .seconds(3)
        )
    }

    /// Creates the observations of a check: these kinds have a problem, all others are well.
    func seen(_ kinds: Set<IncidentKind>) -> [IncidentKind: IncidentObservation] {
        Dictionary(
            uniqueKeysWithValues: IncidentKind.allCases.map { kind in
                let problem = IncidentObservation.Problem(nil, count: 2, "\(kind): \"as seen\"")
                return (
                    kind,
                    IncidentObservation(kinds.contains(kind) ? [problem] : [], action: "mend it")
                )
            }
        )
    }

    /// Decides the incidents to report when these kinds have a problem.
    func decide(
        _ look: IncidentCheck,
        _ kinds: Set<IncidentKind>
    ) -> (IncidentBoard, [Incident]) {
        var board = look.board
        let changed = board.note(seen(kinds), at: look.now, hold: .zero)
        return (board, changed)
    }

    /// Claims the next check, which finds no problem, and stores the ended incidents.
    func over(after look: IncidentCheck, _ board: IncidentBoard) async throws -> [Incident] {
        try await advance(ms: 3000)
        let next = try some(try await self.look(), "the next check")
        try equal(next.board, board, "the stored board")
        let (after, changed) = decide(next, [])
        try expect(try await end(next, after, changed), "the resolution was rejected")
        return changed
    }
}
