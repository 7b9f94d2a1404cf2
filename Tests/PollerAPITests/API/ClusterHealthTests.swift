import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("Health checks of the cluster")
struct ClusterHealthTests {
    private static let now = Timestamp(ms: 1_000_000)

    private static func lane(
        _ account: String,
        overdueFor: Duration? = nil,
        isPaused: Bool = false,
        heldFor: Duration? = nil,
        factor: Double = 1,
        failures: Int = 0,
        lastFailure: LaneFailure? = nil
    ) -> LaneReport {
        LaneReport(
            LaneID(account: AccountID(unchecked: account), kind: .source),
            waiting: 1,
            overdue: overdueFor == nil ? 0 : 1,
            oldestDue: now + (overdueFor.map { .zero - $0 } ?? .seconds(60)),
            isPaused: isPaused,
            heldUntil: heldFor.map { now + $0 },
            factor: factor,
            failures: failures,
            lastFailure: lastFailure,
            now: now
        )
    }

    private static func status(
        _ lanes: [LaneReport],
        watches: StoreStats = StoreStats(),
        deliveries: StoreStats = StoreStats(),
        roles: [String] = ["worker", "notifier"],
        lease: Duration = .seconds(12)
    ) -> ClusterStatus {
        let members = roles.enumerated().map { index, roles in
            Member(
                owner: OwnerID(unchecked: "o\(index)"),
                roles: roles,
                pid: index,
                host: "h\(index)",
                version: "1",
                startedAt: now,
                inFlight: 0
            )
        }
        return ClusterStatus(
            watches: watches,
            deliveries: deliveries,
            lanes: lanes,
            more: nil,
            members: members,
            laneLimit: .stripe,
            lease: lease
        )
    }

    private static func health(
        _ name: String,
        _ status: ClusterStatus
    ) throws -> HealthResult {
        try #require(ClusterHealth(status: status).results.first { $0.name == name }).result
    }

    @Test("a lane's state names the condition that restricts it most")
    func states() {
        #expect(Self.lane("a").state == .flowing)
        #expect(Self.lane("a", factor: 0.5).state == .slowed)
        #expect(Self.lane("a", heldFor: .seconds(1), factor: 0.5).state == .held)
        #expect(Self.lane("a", failures: 10).state == .probing)
        #expect(Self.lane("a", heldFor: .seconds(1), failures: 10).state == .open)
        #expect(Self.lane("a", isPaused: true, failures: 10).state == .paused)
        #expect(Self.lane("a", heldFor: .zero).state == .flowing, "the hold has ended")
    }

    @Test("lanes are sorted: stopped and overdue, overdue, stopped, then the others")
    func order() {
        let lanes = [
            Self.lane("rest"), Self.lane("slowed", factor: 0.5),
            Self.lane("late", overdueFor: .seconds(9)),
            Self.lane("paused", isPaused: true),
            Self.lane("held-late", overdueFor: .seconds(1), heldFor: .seconds(1)),
            Self.lane("open-later", overdueFor: .seconds(5), heldFor: .seconds(1), failures: 10),
            Self.lane("later", overdueFor: .seconds(20)),
        ]
        let names = Self.status(lanes.shuffled()).lanes.map {
            String($0.lane.description.dropLast(8))
        }
        #expect(
            names == ["open-later", "held-late", "later", "late", "paused", "slowed", "rest"]
        )
    }

    @Test("a cursor survives encoding, and other texts are rejected")
    func cursors() {
        let rank = LaneRank(Self.lane("acct_1", overdueFor: .seconds(3)))
        for cursor in [LaneCursor.after(rank), .store("17:abc:")] {
            #expect(LaneCursor(cursor.text) == cursor)
        }
        for text in ["", "AAAA", "%", String(repeating: "A", count: 4000)] {
            #expect(LaneCursor(text) == nil)
        }
    }

    @Test("without workers, the check fails only if watches wait")
    func workers() throws {
        let idle = Self.status([], roles: ["api"])
        #expect(try Self.health("workers", idle).status == .warning)
        let stuck = Self.status([], watches: StoreStats(pending: 3), roles: ["api"])
        let result = try Self.health("workers", stuck)
        #expect(result.status == .failed)
        #expect(result.message.contains("3"))
        #expect(result.action?.contains("pollerd worker") == true)
        let all = Self.status([], roles: ["worker,notifier,api"])
        #expect(try Self.health("workers", all).status == .ok)
    }

    @Test("a backlog is rated by its age, and paused lanes do not count")
    func backlog() throws {
        for (age, status) in [
            (Duration.seconds(1), "ok"), (.seconds(16), "warning"), (.seconds(61), "failed"),
        ] {
            let result = try Self.health("backlog", Self.status([Self.lane("a", overdueFor: age)]))
            #expect(result.status.rawValue == status)
            #expect((result.action == nil) == (status == "ok"))
        }
        let paused = Self.lane("a", overdueFor: .seconds(999), isPaused: true)
        let held = try Self.health("backlog", Self.status([paused]))
        #expect(held.status == .ok)
        #expect(held.message.hasSuffix("overdue, all in paused lanes"), "\(held.message)")
    }

    @Test("a delay of a configured lease and a second is no backlog")
    func longLease() throws {
        let late = Self.lane("a", overdueFor: .seconds(601))
        let long = Self.status([late], lease: .seconds(600))
        #expect(try Self.health("backlog", long).status == .ok)
        #expect(long.lateAfter == .seconds(603))
        #expect(try Self.health("backlog", Self.status([late])).status == .failed)
    }

    @Test("stopped lanes are named, and an open circuit is a failure")
    func lanes() throws {
        let open = Self.lane("down", heldFor: .seconds(1), failures: 12)
        let result = try Self.health("lanes", Self.status([open]))
        #expect(result.status == .failed)
        #expect(result.message.contains("down/sources"))
        let many = (0..<5).map { Self.lane("p\($0)", isPaused: true) }
        let paused = try Self.health("lanes", Self.status(many))
        #expect(paused.status == .warning)
        #expect(paused.message.contains("2 more"))
        #expect(paused.action?.contains("lane resume") == true)
        #expect(try Self.health("lanes", Self.status([Self.lane("a")])).status == .ok)
    }

    @Test("the lanes check states how each upstream fails")
    func failures() throws {
        let lanes = [
            ("bank", LaneFailure.denied), ("shop", .erring), ("down", .silent), ("old", nil),
        ].map { account, failure in
            Self.lane(account, heldFor: .seconds(1), failures: 12, lastFailure: failure)
        }
        let message = try Self.health("lanes", Self.status(lanes)).message
        #expect(
            message == """
                the upstream rejects the credentials (401 or 403) for bank/sources, \
                the upstream responds with errors for shop/sources, \
                the upstream does not respond for down/sources, \
                the upstream fails for old/sources; it is probed automatically
                """
        )
    }

    @Test("the backlog check advises starting a worker only if none is alive")
    func backlogWithoutWorkers() throws {
        let late = [Self.lane("a", overdueFor: .seconds(90))]
        let alone = try Self.health("backlog", Self.status(late, roles: ["api"]))
        #expect(alone.status == .failed)
        #expect(alone.action == "start a worker with pollerd worker: none is alive")
        let served = try Self.health("backlog", Self.status(late))
        #expect(served.action?.contains("start more workers if all are busy") == true)
    }

    @Test("payments that cannot be polled because of refused credentials are a warning")
    func refused() {
        #expect(UnauthorizedWatches().result.status == .ok)
        var some = UnauthorizedWatches()
        for number in 0..<5 {
            let error = "credentials refused: HTTP 403; it is tried again within a minute"
            let isRefused = number < 3
            some.add(Self.watch("\(number)", error: isRefused ? error : number == 3 ? "503" : nil))
        }
        #expect(some.result.status == .warning)
        #expect(
            some.result.message == """
                3 of 5 payments of bank/sources cannot be polled: the upstream rejects the \
                credentials (HTTP 403)
                """
        )
    }

    private static func watch(_ source: String, error: String?) -> WatchSnapshot {
        let key = WatchKey(source, of: AccountID(unchecked: "bank"))
        let watch = Watch(key, createdAt: now, deadline: now + .seconds(3600), state: WatchState())
        return WatchSnapshot(watch, lastError: error)
    }

    @Test("quarantined watches are a warning, and events without a notifier are a failure")
    func others() throws {
        let quarantined = Self.status([], watches: StoreStats(quarantined: 2))
        #expect(try Self.health("quarantine", quarantined).status == .warning)
        let waiting = StoreStats(undelivered: 5)
        let withoutNotifier = Self.status([], watches: waiting, roles: ["worker"])
        #expect(try Self.health("outbox", withoutNotifier).status == .failed)
        #expect(try Self.health("outbox", Self.status([], watches: waiting)).status == .ok)
        let many = Self.status([], watches: StoreStats(undelivered: 5000))
        #expect(try Self.health("outbox", many).status == .warning)
    }

    @Test("no notifier is a failure if workers run or deliveries wait")
    func notifiers() throws {
        let empty = Self.status([], roles: [])
        #expect(try Self.health("notifiers", empty).status == .warning)
        let waiting = Self.status([], deliveries: StoreStats(pending: 2, leased: 1), roles: [])
        let stuck = try Self.health("notifiers", waiting)
        #expect(stuck.status == .failed && stuck.message.contains("3 deliveries wait"))
        #expect(stuck.action?.contains("pollerd notifier") == true)
        let workers = Self.status([], roles: ["worker"])
        #expect(try Self.health("notifiers", workers).status == .failed)
        let two = try Self.health("notifiers", Self.status([], roles: ["notifier", "notifier"]))
        #expect(two.status == .ok && two.message.contains("2 delivering"))
    }

    @Test("dead letters and unavailable endpoints are both reported, with exact counts if listed")
    func trouble() throws {
        let both = Self.status([], deliveries: StoreStats(quarantined: 2, circuitsOpen: 3))
        let result = try Self.health("deliveries", both)
        for part in ["2 have dead letters", "3 endpoints accept no events"] {
            #expect(result.message.contains(part), "\(result)")
        }
        for part in ["--state dead", "--state failing"] {
            #expect(result.action?.contains(part) == true, "\(result)")
        }
        let listed = ClusterHealth(status: both, failures: DeliveryFailures(failing: 4, dead: 5))
        let exact = try #require(listed.results.first { $0.name == "deliveries" }).result
        #expect(
            exact.message.contains("4 are failing") && exact.message.contains("5 have dead letters")
        )
    }

    @Test("dead letters or unavailable endpoints are a warning")
    func deliveries() throws {
        let dead = Self.status([], deliveries: StoreStats(quarantined: 2))
        #expect(try Self.health("deliveries", dead).status == .warning)
        #expect(try Self.health("deliveries", dead).action?.contains("--state dead") == true)
        let down = Self.status([], deliveries: StoreStats(circuitsOpen: 1))
        #expect(try Self.health("deliveries", down).status == .warning)
        #expect(try Self.health("deliveries", Self.status([])).status == .ok)
    }

    @Test("the oldest overdue age uses the store's clock, and is zero if nothing is overdue")
    func oldest() {
        let late = Self.status(
            [Self.lane("a", overdueFor: .seconds(4)), Self.lane("b", overdueFor: .seconds(7))],
            watches: StoreStats(overdue: 2)
        )
        #expect(late.oldestOverdue == .seconds(7))
        let beyond = Self.status(
            [Self.lane("a")],
            watches: StoreStats(overdue: 1, oldestDue: Self.now + .seconds(-30))
        )
        #expect(beyond.oldestOverdue == .seconds(30), "its lane was not looked at")
        #expect(Self.status([Self.lane("a")]).oldestOverdue == .zero)
    }
}
