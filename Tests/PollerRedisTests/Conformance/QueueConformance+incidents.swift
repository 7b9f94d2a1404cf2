import Poller
import PollerIdentity
import PollerQueue
import PollerRedis
import PollerTesting

extension QueueConformance {
    /// The incidents, and the claim to check for them.
    static let incidents: [ConformanceCase] = [
        ConformanceCase("of all who ask one has the turn to look, until a while after its end") {
            bench in
            let first = try bench.some(try await bench.look(), "the first turn")
            try bench.equal(first.board, IncidentBoard(), "a new cluster's board")
            let second = try await bench.look(ConformanceBench.bert)
            try bench.equal(second, nil, "while somebody has it")
            try bench.expect(try await bench.end(first), "its end is taken")
            try bench.equal(try await bench.look(), nil, "in the pause")
            try await bench.advance(ms: 3000)
            let next = try bench.some(try await bench.look(), "after the pause")
            try bench.equal(next.turn, first.turn + 1, "turns are counted")
            try bench.equal(next.now - first.now, .seconds(3), "by the store's clock")
        },
        ConformanceCase("of many who ask at the same time one has the turn") { bench in
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<12 { group.addTask { try await bench.look() != nil } }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            try bench.equal(taken, 1, "turns")
        },
        ConformanceCase("a turn that was left passes, and whoever left it tells nothing any more") {
            bench in
            let left = try bench.some(try await bench.look(), "the turn of one that dies")
            try await bench.advance(ms: Int(ConformanceBench.lease.ms))
            let look = try bench.some(try await bench.look(ConformanceBench.bert), "the next")
            let (board, news) = bench.decide(look, [.noWorker])
            try bench.expect(!(try await bench.end(left, board, news)), "the late one is refused")
            try bench.equal(
                try await bench.redis.store.incidents().open,
                [],
                "nothing is told by it"
            )
            try bench.expect(try await bench.end(look, board, news), "the other one is taken")
            try bench.expect(!(try await bench.end(left, board, news)), "and still")
            try bench.equal(try await bench.redis.store.incidents().open, news, "told")
        },
        ConformanceCase("what is told is on the board, in its log and in the outbox, once") {
            bench in
            let look = try bench.some(try await bench.look(), "the first turn")
            let (board, news) = bench.decide(look, [.noWorker, .quarantine])
            try bench.expect(try await bench.end(look, board, news), "it is stored")
            let closed = try await bench.watches.stats().closed
            try bench.equal(closed, 0, "closed watches")
            let incident = try bench.some(news.last, "an incident")
            let list = try await bench.redis.store.incidents()
            try bench.equal(list, IncidentList(open: news, resolved: []), "open")
            let over = try await bench.over(after: look, board)
            try bench.equal(over.map(\.id), news.map(\.id), "what is over")
            let later = try await bench.redis.store.incidents()
            try bench.equal(later, IncidentList(open: [], resolved: over.reversed()), "later")
            let log = try await bench.watches.events(of: incident.key, after: 0, limit: 10)
            let told = [incident.event, over.last?.event].compactMap(\.self)
            try bench.equal(log, told, "the log")
            try bench.equal(log.map(\.seq), [1, 2], "seq")
            let entries = try await bench.watches.entries(
                partition: bench.partition(of: incident.key),
                after: "0",
                limit: 10
            )
            try bench.equal(entries.map(\.event), (news + over).map(\.event), "the outbox")
            try bench.expect(entries.allSatisfy(\.notify.isEmpty), "no URL of their own")
        },
        ConformanceCase("the board is read as it was stored, with what is not told yet") { bench in
            let look = try bench.some(try await bench.look(), "the first turn")
            var board = look.board
            let news = board.note(bench.seen([.laneStopped]), at: look.now, hold: .seconds(60))
            try bench.equal(news, [], "told at once")
            try bench.expect(try await bench.end(look, board, []), "it is stored")
            try await bench.advance(ms: 3000)
            let next = try bench.some(try await bench.look(ConformanceBench.bert), "the next turn")
            try bench.equal(next.board, board, "the board")
        },
        ConformanceCase("an incident is no watch: never due, listed or opened") { bench in
            let look = try bench.some(try await bench.look(), "the first turn")
            let (board, news) = bench.decide(look, [.noWorker])
            _ = try await bench.end(look, board, news)
            let key = try bench.some(news.first, "an incident").key
            try bench.equal(try await bench.due(key), [], "due")
            for state in [nil, ListQuery.State.closed] {
                let page = try await bench.watches.list(ListQuery(state: state))
                try bench.equal(page.items.map(\.watch.key), [], "the watches")
            }
            let orders = try await bench.redis.store.orders(OrderQuery(account: key.account))
            try bench.equal(orders.items.count, 0, "the orders")
            try bench.expect(!(try await bench.watches.hint(key)), "a hint opens nothing")
            try bench.expect(!(try await bench.watches.cancel(key)), "nothing to cancel")
            try bench.expect(!(try await bench.watches.redrive(key)), "nor to redrive")
            let snapshot = try await bench.snapshot(key)
            try bench.equal(snapshot.watch.state.status?.description, "open", "its status")
        },
        ConformanceCase("one that was open for longer than things are kept still tells its end") {
            bench in
            let look = try bench.some(try await bench.look(), "the first turn")
            let (board, news) = bench.decide(look, [.noWorker])
            _ = try await bench.end(look, board, news)
            let key = try bench.some(news.first, "an incident").key
            let home = bench.partition(of: key)
            _ = try await bench.claim(in: home)
            try await bench.advance(ms: 5000)
            while try await bench.watches.purge(partition: home, retention: .seconds(2)) {}
            try bench.equal(try await bench.watches.snapshot(of: key) == nil, true, "forgotten")
            let over = try await bench.over(after: look, board)
            let log = try await bench.watches.events(of: key, after: 0, limit: 10)
            try bench.equal(log, over.map(\.event), "the log has its end")
            try bench.equal(log.map(\.seq), [2], "under its own number")
        },
        ConformanceCase("of those that are over the newest hundred are kept") { bench in
            let look = try bench.some(try await bench.look(), "the first turn")
            var board = look.board
            var over: [Incident] = []
            for second in 0..<IncidentList.resolvedMax + 3 {
                let now = look.now + .seconds(second)
                _ = board.note(bench.seen([.noWorker]), at: now, hold: .zero)
                over += board.note(bench.seen([]), at: now, hold: .zero)
            }
            _ = try await bench.end(look, board, over)
            let kept = try await bench.redis.store.incidents().resolved
            try bench.equal(kept, over.suffix(IncidentList.resolvedMax).reversed(), "kept")
        },
    ]

    /// The endpoints with dead letters.
    static let deadLetters: [ConformanceCase] = [
        ConformanceCase("the endpoints are found whose deliveries rest with dead letters") {
            bench in
            func bury(_ mark: DeliveryMark) async throws -> DeliveryID {
                try await bench.deliveries.mark([mark])
                let state = DeliveryState(cursor: 1, dead: [1])
                try await bench.end(try await bench.take(mark), .setAside, state: state)
                try await bench.advance(ms: 10)
                return bench.deliveries.id(of: mark.endpoint, mark.watch)
            }
            let none = try await bench.deliveries.deadLetters(limit: 10)
            try bench.equal(none, DeadLetters(), "of none")
            let a = try bench.mark("1", "a.example").endpoint
            let b = try bench.mark("1", "b.example").endpoint
            _ = try await bury(try bench.mark("1", "a.example"))
            let newest = try await bury(try bench.mark("2", "a.example"))
            let other = try await bury(try bench.mark("1", "b.example"))
            let all = try await bench.deliveries.deadLetters(limit: 10)
            try bench.equal(all.endpoints.mapValues(\.count), [a: 2, b: 1], "how many")
            try bench.equal(all.endpoints[a]?.newest, newest, "the newest of one")
            try bench.equal(all.endpoints[b]?.newest, other, "and of the other")
            try bench.expect(all.isWhole, "all were looked at")
            let some = try await bench.deliveries.deadLetters(limit: 1)
            try bench.expect(!some.isWhole, "not all were looked at")
            try bench.equal(some.endpoints[a]?.count ?? 1, 1, "no more than asked for")
            try await bench.deliveries.mark([try bench.mark("1", "b.example")])
            let later = try await bench.deliveries.deadLetters(limit: 10)
            try bench.equal(later.endpoints.mapValues(\.count), [a: 2], "one that goes on")
        }
    ]
}

extension ConformanceBench {
    func look(_ owner: OwnerID = anna) async throws -> IncidentLook? {
        try await redis.store.takeLook(owner, for: Self.lease)
    }

    /// Ends a check with a pause of 3 s.
    func end(
        _ look: IncidentLook,
        _ board: IncidentBoard? = nil,
        _ news: [Incident] = []
    ) async throws -> Bool {
        try await redis.store.endLook(
            look,
            board: board ?? look.board,
            telling: news,
            pause: .seconds(3)
        )
    }

    /// Creates the observations of a check: these kinds are in trouble, all others are well.
    func seen(_ kinds: Set<IncidentKind>) -> [IncidentKind: Sighting] {
        Dictionary(
            uniqueKeysWithValues: IncidentKind.allCases.map { kind in
                let trouble = Sighting.Trouble(nil, count: 2, "\(kind): \"as seen\"")
                return (kind, Sighting(kinds.contains(kind) ? [trouble] : [], action: "mend it"))
            }
        )
    }

    /// Decides the incidents to report when these kinds are in trouble.
    func decide(
        _ look: IncidentLook,
        _ kinds: Set<IncidentKind>
    ) -> (IncidentBoard, [Incident]) {
        var board = look.board
        let news = board.note(seen(kinds), at: look.now, hold: .zero)
        return (board, news)
    }

    /// Claims the next check, which finds no problem, and stores the ended incidents.
    func over(after look: IncidentLook, _ board: IncidentBoard) async throws -> [Incident] {
        try await advance(ms: 3000)
        let next = try some(try await self.look(), "the next turn")
        try equal(next.board, board, "the board that was stored")
        let (after, news) = decide(next, [])
        try expect(try await end(next, after, news), "what is over is stored")
        return news
    }
}
