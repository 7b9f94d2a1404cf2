import PollerDeliveries
import PollerIdentity
import PollerIncidents
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

/// Failing recipients and accounts with a rejected key, as found by a check of the cluster.
@Suite("Incidents of recipients and keys")
struct ClusterReceiversTests {
    /// A cluster in memory with its check.
    private struct Rig {
        let time = VirtualTime()
        let store: MemoryStore
        let deliveries: MemoryDeliveryQueue
        let endpoints: MemoryEndpointStore
        let detector: IncidentDetector

        init() {
            store = MemoryStore(time: time)
            deliveries = MemoryDeliveryQueue(time: time)
            endpoints = MemoryEndpointStore(time: time)
            detector = IncidentDetector(
                ClusterStores(store, deliveries),
                endpoints: endpoints,
                keys: ListedKeys(),
                failingAfter: .seconds(300),
                memoryUsed: { nil }
            )
        }

        func mark(_ host: String) throws -> DeliveryMark {
            DeliveryMark(url: try NotifyURL("https://\(host)/hook"), watch: Self.watch)
        }

        static let watch = WatchKey("src_1")

        /// Makes one attempt of a due delivery.
        func attempt(
            _ mark: DeliveryMark,
            _ verdict: Verdict,
            _ state: DeliveryState,
            error: String? = nil,
            signal: LaneSignal = .fine
        ) async throws {
            let request = ClaimRequest(
                partition: deliveries.partition(of: LaneID(endpoint: mark.endpoint))
            )
            for lease in try await deliveries.claim(request).leases {
                guard lease.item.endpoint == mark.endpoint else {
                    _ = try await deliveries.release([lease.ref])
                    continue
                }
                let change = DeliveryChange(state: state, lastError: error)
                let commit = Commit(
                    ref: lease.ref,
                    verdict: verdict,
                    change: change,
                    signal: signal
                )
                _ = try await deliveries.commit([commit])
            }
        }

        func seen(
            _ kind: IncidentKind,
            open: [PollerIncidents.Incident] = []
        ) async throws -> IncidentObservation {
            try #require(try await detector.check(at: time.now, open: open)[kind])
        }

        /// Records an event that becomes a dead letter, without a further event.
        func buries(_ mark: DeliveryMark) async throws {
            try await deliveries.mark([mark])
            let state = DeliveryState(cursor: 1, dead: [1])
            try await attempt(mark, .setAside, state, error: "answered 500")
        }
    }

    @Test("a recipient that fails for 300 s is reported with start and last error until it accepts")
    func failing() async throws {
        let rig = Rig()
        let mark = try rig.mark("shop.example")
        try await rig.deliveries.mark([mark])
        let since = rig.time.now
        let failed = DeliveryState(failures: 1, failedSince: since)
        try await rig.attempt(
            mark,
            .next(after: .zero),
            failed,
            error: "answered 503",
            signal: .erring
        )
        rig.time.advance(by: .milliseconds(299_999))
        #expect(try await rig.seen(.endpointFailing).problems.isEmpty)
        rig.time.advance(by: .milliseconds(1))
        let seen = try await rig.seen(.endpointFailing)
        let problem = try #require(seen.problems.first)
        #expect(problem.subject == "\(mark.endpoint)" && problem.since == since)
        #expect(
            problem.message
                == "shop.example (\(mark.endpoint)) has accepted no event since \(since): "
                + "answered 503"
        )
        #expect(seen.action?.contains("pollerctl delivery") == true && seen.isWhole)
        // The incident begins at the recipient's first failure, and is reported once.
        var board = IncidentBoard()
        let changed = board.note([.endpointFailing: seen], at: rig.time.now, hold: .seconds(60))
        #expect(changed.map(\.since) == [since] && changed.map(\.openedAt) == [rig.time.now])
        #expect(board.note([.endpointFailing: seen], at: rig.time.now, hold: .seconds(60)).isEmpty)

        try await rig.attempt(mark, .rest, DeliveryState(cursor: 1))
        #expect(try await rig.seen(.endpointFailing) == IncidentObservation(action: seen.action))
    }

    @Test("a recipient that is disabled or has no pending deliveries is not failing")
    func notFailing() async throws {
        let rig = Rig()
        let inline = try rig.mark("inline.example")
        let endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_registered"),
            account: .main,
            url: try NotifyURL("https://registered.example/hook")
        )
        _ = try await rig.endpoints.create(endpoint, request: nil)
        let registered = DeliveryMark(endpoint: endpoint.id, watch: Rig.watch)
        try await rig.deliveries.mark([inline, registered])
        let dead = DeliveryState(cursor: 1, dead: [1])
        try await rig.attempt(inline, .setAside, dead, error: "gave up", signal: .failing)
        let failed = DeliveryState(failures: 1, failedSince: rig.time.now)
        let later = Verdict.next(after: .seconds(3600))
        try await rig.attempt(registered, later, failed, error: "no answer", signal: .failing)
        rig.time.advance(by: .seconds(600))
        let seen = try await rig.seen(.endpointFailing)
        #expect(seen.problems.map(\.subject) == ["ep_registered"])
        #expect(
            seen.problems.first?.message.hasPrefix("registered.example (ep_registered)") == true
        )
        _ = try await rig.endpoints.disable(endpoint.id, reason: "holidays")
        #expect(try await rig.seen(.endpointFailing).problems.isEmpty)
    }

    @Test(
        "a payer's email address is not a failing recipient; registered and operator addresses are"
    )
    func payers() async throws {
        let rig = Rig()
        let mail = try NotifyURL("mailto:jane@example.org")
        let payer = DeliveryMark(url: mail, watch: Rig.watch)
        let operators = WatchKey("inc_1", of: .operators, kind: .incident)
        let ours = DeliveryMark(url: mail, watch: operators)
        let endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_registered"),
            account: .main,
            url: try NotifyURL("mailto:billing@shop.example")
        )
        _ = try await rig.endpoints.create(endpoint, request: nil)
        let registered = DeliveryMark(endpoint: endpoint.id, watch: Rig.watch)
        let hook = try rig.mark("shop.example")
        try await rig.deliveries.mark([payer, ours, registered, hook])
        let failed = DeliveryState(failures: 1, failedSince: rig.time.now)
        let later = Verdict.next(after: .seconds(3600))
        for mark in [payer, ours, registered, hook] {
            try await rig.attempt(mark, later, failed, error: "answered 450", signal: .erring)
        }
        rig.time.advance(by: .seconds(600))
        for check in 1...2 {
            let seen = try await rig.seen(.endpointFailing)
            #expect(
                Set(seen.problems.compactMap(\.subject))
                    == ["\(ours.endpoint)", "ep_registered", "\(hook.endpoint)"],
                "look \(check)"
            )
            #expect(seen.isWhole)
        }
    }

    @Test("dead letters are reported until they are sent, even while their delivery continues")
    func lingering() async throws {
        let rig = Rig()
        let mark = try rig.mark("shop.example")
        try await rig.buries(mark)
        var board = IncidentBoard()
        let first = try await rig.seen(.deadLetters)
        #expect(board.note([.deadLetters: first], at: rig.time.now, hold: .zero).count == 1)

        // A new event is recorded, and waits because its endpoint is disabled.
        try await rig.deliveries.mark([mark])
        try await rig.deliveries.pause(LaneID(endpoint: mark.endpoint))
        #expect(try await rig.deliveries.stats().quarantined == 0)
        #expect(try await rig.seen(.deadLetters).problems.isEmpty, "it is not reported yet")
        let waiting = try await rig.seen(.deadLetters, open: board.open)
        #expect(waiting.problems.map(\.message) == first.problems.map(\.message))
        #expect(board.note([.deadLetters: waiting], at: rig.time.now, hold: .zero).isEmpty)

        // Retried and accepted, together with the new event.
        try await rig.deliveries.resume(LaneID(endpoint: mark.endpoint))
        try await rig.attempt(mark, .rest, DeliveryState(cursor: 2))
        let over = try await rig.seen(.deadLetters, open: board.open)
        #expect(over.problems.isEmpty && over.isWhole)
        let changed = board.note([.deadLetters: over], at: rig.time.now, hold: .zero)
        #expect(changed.map { $0.resolvedAt != nil } == [true])
    }

    @Test("a combined incident ends when its last endpoint recovers")
    func lingeringTogether() async throws {
        let rig = Rig()
        let marks = try (0...IncidentBoard.perKindMax).map { try rig.mark("shop\($0).example") }
        for mark in marks { try await rig.buries(mark) }
        var board = IncidentBoard()
        let first = try await rig.seen(.deadLetters)
        _ = board.note([.deadLetters: first], at: rig.time.now, hold: .zero)
        #expect(board.open.map(\.subject) == [nil])
        try await rig.deliveries.mark(marks)
        for mark in marks.dropLast() {
            try await rig.attempt(mark, .rest, DeliveryState(cursor: 2))
        }
        let last = try await rig.seen(.deadLetters, open: board.open)
        #expect(last.problems.map(\.subject) == ["\(marks[marks.count - 1].endpoint)"])
        #expect(board.note([.deadLetters: last], at: rig.time.now, hold: .zero).isEmpty)
        #expect(board.open.map(\.subject) == [nil])
        try await rig.attempt(marks[marks.count - 1], .rest, DeliveryState(cursor: 2))
        let over = try await rig.seen(.deadLetters, open: board.open)
        #expect(board.note([.deadLetters: over], at: rig.time.now, hold: .zero).count == 1)
    }

    @Test("a rejected key is one incident of its account, not of its lanes or their late watches")
    func credentials() throws {
        let now = VirtualTime.start
        func lane(
            _ account: String,
            _ failure: LaneFailure?,
            kind: SourceKind = .source,
            failures: Int = 1,
            isPaused: Bool = false
        ) -> LaneReport {
            LaneReport(
                LaneID(account: AccountID(unchecked: account), kind: kind),
                waiting: 2,
                overdue: 2,
                oldestDue: now + (.zero - .seconds(90)),
                inFlight: 1,
                isPaused: isPaused,
                failures: failures,
                lastFailure: failure,
                now: now
            )
        }
        let member = Member(
            owner: OwnerID(unchecked: "o"),
            roles: "worker,notifier",
            pid: 1,
            host: "h",
            version: "1",
            startedAt: now,
            inFlight: 0
        )
        let status = ClusterStatus(
            watches: StoreStats(pending: 6),
            deliveries: StoreStats(),
            lanes: [
                lane("acme", .revoked), lane("acme", .revoked, kind: .paymentIntent, failures: 30),
                lane("off", .revoked, isPaused: true),
            ],
            more: nil,
            members: [member],
            laneLimit: .unlimited,
            lease: .seconds(12)
        )
        let seen = IncidentDetector.credentials(status)
        #expect(seen.problems.map(\.subject) == ["acme"] && seen.problems.map(\.count) == [6])
        #expect(
            seen.problems.first?.message
                == "the upstream refuses the key of account acme (401): 6 payments are not polled"
        )
        #expect(seen.action?.contains("STRIPE_API_KEY") == true)
        #expect(IncidentDetector.stopped(status).problems.isEmpty)
        #expect(IncidentDetector.processes(status)[.backlog]?.problems.isEmpty == true)
        // If a key has no access to some objects, the lane is reported once it is stopped.
        let denied = ClusterStatus(
            watches: StoreStats(pending: 2),
            deliveries: StoreStats(),
            lanes: [lane("acme", .denied, failures: 30)],
            more: nil,
            members: [member],
            laneLimit: .unlimited,
            lease: .seconds(12)
        )
        #expect(IncidentDetector.credentials(denied).problems.isEmpty)
        #expect(IncidentDetector.stopped(denied).problems.map(\.subject) == ["acme/sources"])
    }
}
