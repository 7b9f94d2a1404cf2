import PollerDeliveries
import PollerHints
import PollerIdentity
import PollerIncidents
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

/// The incidents that a check finds for operators, with the doctor's messages.
@Suite("Incidents of a cluster")
struct IncidentDetectorTests {
    private static let now = Timestamp(ms: 1_795_165_200_125)

    private static func lane(
        _ account: String,
        overdueFor: Duration? = nil,
        isPaused: Bool = false,
        heldFor: Duration? = nil,
        failures: Int = 0
    ) -> LaneReport {
        LaneReport(
            LaneID(account: AccountID(unchecked: account), kind: .source),
            waiting: 1,
            overdue: overdueFor == nil ? 0 : 1,
            oldestDue: now + (overdueFor.map { .zero - $0 } ?? .seconds(60)),
            isPaused: isPaused,
            heldUntil: heldFor.map { now + $0 },
            failures: failures,
            now: now
        )
    }

    private static func status(
        _ lanes: [LaneReport] = [],
        watches: StoreStats = StoreStats(),
        more: String? = nil,
        roles: [String] = ["worker", "notifier"]
    ) -> ClusterStatus {
        ClusterStatus(
            watches: watches,
            deliveries: StoreStats(),
            lanes: lanes,
            more: more,
            members: roles.enumerated().map { index, role in
                Member(
                    owner: OwnerID(unchecked: "o\(index)"),
                    roles: role,
                    pid: index,
                    host: "h",
                    version: "1",
                    startedAt: now,
                    inFlight: 0
                )
            },
            laneLimit: .unlimited,
            lease: .seconds(12)
        )
    }

    private static func kinds(_ status: ClusterStatus) -> Set<IncidentKind> {
        let seen = IncidentDetector.processes(status)
        return Set(seen.filter { !$0.value.problems.isEmpty }.keys)
    }

    @Test("a missing worker or notifier is one incident, without incidents for its consequences")
    func processes() {
        let waiting = StoreStats(pending: 3)
        let late = [Self.lane("a", overdueFor: .seconds(90))]
        #expect(Self.kinds(Self.status()) == [])
        #expect(Self.kinds(Self.status(roles: ["api", "notifier"])) == [], "nothing waits")
        #expect(
            Self.kinds(Self.status(late, watches: waiting, roles: ["notifier"])) == [.noWorker]
        )
        #expect(
            Self.kinds(Self.status(watches: StoreStats(undelivered: 5000), roles: ["worker"]))
                == [.noNotifier]
        )
        #expect(Self.kinds(Self.status(late, watches: waiting)) == [.backlog])
        #expect(Self.kinds(Self.status(watches: StoreStats(undelivered: 5000))) == [.backlog])
        #expect(Self.kinds(Self.status(watches: StoreStats(quarantined: 2))) == [.quarantine])
        // Its watches wait because the lane is stopped.
        let stopped = [Self.lane("a", overdueFor: .seconds(90), failures: 10)]
        #expect(Self.kinds(Self.status(stopped, watches: waiting)) == [])
        let problems = IncidentDetector.processes(Self.status(watches: waiting, roles: ["api"]))
        #expect(
            problems[.noWorker]?.problems.first?.message
                == "workers: none is alive and 3 watches wait"
        )
        #expect(problems[.noWorker]?.action?.contains("pollerd worker") == true)
    }

    @Test("a lane is stopped if its circuit is open or it is held for long, not if it is paused")
    func lanes() {
        let seen = IncidentDetector.stopped(
            Self.status([
                Self.lane("well"), Self.lane("open", heldFor: .seconds(9), failures: 10),
                Self.lane("probing", failures: 12), Self.lane("slow", heldFor: .seconds(5)),
                Self.lane("held", heldFor: .seconds(600)),
                Self.lane("paused", isPaused: true, failures: 10),
            ])
        )
        #expect(
            Set(seen.problems.compactMap(\.subject))
                == ["open/sources", "probing/sources", "held/sources"]
        )
        #expect(seen.isWhole)
        let some = Self.status(watches: StoreStats(circuitsOpen: 1), more: "next")
        #expect(!IncidentDetector.stopped(some).isWhole, "of those that were not read one is open")
    }

    @Test("dead letters, disabled endpoints, expiring keys, the mail relay and memory are checked")
    func things() async throws {
        let time = VirtualTime()
        let store = MemoryStore(time: time)
        let deliveries = MemoryDeliveryQueue(time: time)
        let endpoints = MemoryEndpointStore(time: time)
        let day = Duration.seconds(86_400)
        let keys = try [("soon", day * 8), ("later", day * 90), ("short", day * 2)].map {
            try AccessKey(
                id: KeyID(unchecked: "key_\($0)"),
                name: $0,
                role: .viewer,
                expiresAt: time.now + $1,
                createdBy: "test"
            ).stored(at: time.now)
        }
        let relay = MemoryRelayFailures()
        let detector = IncidentDetector(
            ClusterStores(store, deliveries),
            endpoints: endpoints,
            keys: ListedKeys(keys: keys),
            relay: relay,
            memoryUsed: { 0.93 }
        )
        let calm = try await detector.check(at: time.now, open: [])
        #expect(
            calm[.deadLetters] == IncidentObservation() && calm[.endpointDisabled]?.problems == []
        )
        #expect(
            calm[.storeFilling]?.problems.first?.message
                == "store: 93 % of the Redis memory limit is used"
        )

        #expect(calm[.mailRelay] == IncidentObservation())
        try await relay.noteRefusal("550 your address is blocked", at: time.now)
        let refused = try await detector.check(at: time.now, open: [])[.mailRelay]
        #expect(refused?.problems.first?.message.contains("550 your address is blocked") == true)
        #expect(refused?.action?.contains("POLLER_SMTP_URL") == true)

        for (name, by) in [("a", Endpoint.Disabler.ourselves), ("b", .person)] {
            var endpoint = Endpoint(
                id: EndpointID(unchecked: "ep_\(name)"),
                account: .main,
                url: try NotifyURL("mailto:\(name)@shop.example")
            )
            endpoint.state = .disabled(reason: "it answered 410", at: time.now, by: by)
            _ = try await endpoints.create(endpoint, request: nil)
        }
        time.advance(by: day + .seconds(60))
        let seen = try await detector.check(at: time.now, open: [])
        #expect(
            seen[.endpointDisabled]?.problems.map(\.message)
                == ["shop.example (ep_a) receives no events: it answered 410"]
        )
        #expect(seen[.keyExpiring]?.problems.compactMap(\.subject) == ["key_soon"])
        time.advance(by: day * 7)
        let ended = try await detector.check(at: time.now, open: [])
        #expect(ended[.keyExpiring]?.problems == [], "it has ended")
        try await endpoints.enable(EndpointID(unchecked: "ep_a"))
        let enabled = try await detector.check(at: time.now, open: [])
        #expect(enabled[.endpointDisabled]?.problems == [])
    }

    @Test("a check that ended three processes is set aside, and the other checks run")
    func poison() async throws {
        let time = VirtualTime()
        let store = MemoryStore(time: time)
        let partition = store.partition(ofSuspects: Incident.lane.description)
        let part = Suspect(.incident, partition: partition, name: "endpoints")
        _ = try await store.begin([part], isAlone: false)
        for _ in 0..<2 { _ = try await store.begin([part], isAlone: true) }
        let detector = IncidentDetector(
            ClusterStores(
                watches: store,
                deliveries: MemoryDeliveryQueue(time: time),
                lanes: store,
                members: store,
                laneLimit: { .unlimited },
                lease: .seconds(12)
            ),
            endpoints: MemoryEndpointStore(time: time),
            keys: ListedKeys(),
            setAside: store,
            suspects: PoisonGuard(store: store, logger: LiveAPI.quiet),
            memoryUsed: { nil }
        )
        let seen = try await detector.check(at: time.now, open: [])
        #expect(
            seen[.endpointDisabled] == nil,
            "a part that was not checked is neither well nor affected"
        )
        #expect(seen[.keyExpiring] == IncidentObservation() || seen[.keyExpiring]?.problems == [])
        #expect(seen[.noWorker] != nil && seen[.deadLetters] == IncidentObservation())
        let problem = try #require(seen[.setAside]?.problems.first)
        #expect(problem.subject == part.id && problem.message.contains("3 processes"))
        _ = try await store.endSetAside(part.id, isRedriven: true)
        let after = try await detector.check(at: time.now, open: [])
        #expect(after[.endpointDisabled]?.problems == [] && after[.setAside]?.problems == [])
    }

    @Test("dead letters are reported per endpoint, with host and last error")
    func deadLetters() async throws {
        let time = VirtualTime()
        let store = MemoryStore(time: time)
        let deliveries = MemoryDeliveryQueue(time: time)
        let mark = DeliveryMark(
            url: try NotifyURL("https://shop.example/hook"),
            watch: WatchKey("src_1")
        )
        try await deliveries.mark([mark])
        let request = ClaimRequest(
            partition: deliveries.partition(of: LaneID(endpoint: mark.endpoint)),
            limit: 1
        )
        let lease = try #require(try await deliveries.claim(request).leases.first)
        let change = DeliveryChange(
            state: DeliveryState(cursor: 1, dead: [1]),
            lastError: "answered 500"
        )
        _ = try await deliveries.commit([
            Commit(ref: lease.ref, verdict: .setAside, change: change)
        ])
        let seen = try await IncidentDetector(
            ClusterStores(store, deliveries),
            endpoints: MemoryEndpointStore(time: time),
            keys: ListedKeys(),
            memoryUsed: { nil }
        ).check(at: time.now, open: [])
        let problem = try #require(seen[.deadLetters]?.problems.first)
        #expect(problem.subject == "\(mark.endpoint)" && problem.count == 1)
        #expect(
            problem.message == "shop.example (\(mark.endpoint)): 1 delivery has dead letters, "
                + "the last one: answered 500"
        )
        #expect(seen[.storeFilling] == nil, "nobody may ask")
    }

    @Test(
        "refused webhooks are an incident: at once for a wrong clock, after three for a wrong secret"
    )
    func webhooks() {
        let now = VirtualTime.start
        func refused(
            _ reason: WebhookRefusal,
            _ count: Int,
            ago: Duration = .zero
        ) -> RefusedWebhooks {
            RefusedWebhooks(
                account: AccountID(unchecked: "shop"),
                reason: reason,
                count: count,
                since: now + (.zero - ago),
                last: now + (.zero - ago),
                detail: "why"
            )
        }
        func problems(_ refused: RefusedWebhooks) -> [IncidentObservation.Problem] {
            IncidentDetector.observation(of: [refused], at: now).problems
        }
        let clock = IncidentDetector.observation(of: [refused(.clock, 1)], at: now)
        #expect(clock.problems.map(\.subject) == ["shop"])
        #expect(clock.problems.first?.message.contains("1 webhook refused") == true)
        #expect(clock.action?.contains("NTP") == true)
        #expect(problems(refused(.secret, 2)).isEmpty)
        #expect(problems(refused(.secret, 3)).count == 1)
        #expect(problems(refused(.clock, 9, ago: .seconds(90_000))).isEmpty, "long ago")
        let secret = IncidentDetector.observation(of: [refused(.secret, 3)], at: now)
        #expect(secret.action?.contains("accounts.shop.webhook_secrets") == true)
    }
}

extension ClusterStores {
    /// Creates the stores of a cluster in memory, with unlimited lanes.
    init(_ store: MemoryStore, _ deliveries: MemoryDeliveryQueue) {
        self.init(
            watches: store,
            deliveries: deliveries,
            lanes: store,
            members: store,
            laneLimit: { .unlimited },
            lease: .seconds(12)
        )
    }
}
