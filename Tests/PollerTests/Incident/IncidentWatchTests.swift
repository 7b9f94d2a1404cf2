import PollerTesting
import Synchronization
import Testing

@testable import Poller

/// Processes look in turns; whoever dies leaves the telling to the next.
@Suite("IncidentWatch")
struct IncidentWatchTests {
    /// A looker who sees what a test says, or is cut off while looking.
    private final class Looker: IncidentLooker {
        let troubles = Mutex<[IncidentKind: Sighting]>([:])
        let isCutOff = Mutex(false)
        let looks = Mutex(0)

        func look(
            at now: Timestamp,
            open: [Incident]
        ) async throws(StoreError) -> [IncidentKind: Sighting] {
            looks.withLock { $0 += 1 }
            if isCutOff.withLock(\.self) { throw .unavailable("killed while it looked") }
            let well = IncidentKind.allCases.map { ($0, Sighting()) }
            return Dictionary(uniqueKeysWithValues: well).merging(troubles.withLock(\.self)) { $1 }
        }
    }

    private let time = VirtualTime()
    private let store: MemoryStore
    private let looker = Looker()
    private let pace = IncidentPace(hold: .seconds(20))

    init() {
        store = MemoryStore(time: time)
    }

    private func watch(_ name: String) -> IncidentWatch<ManualClock> {
        IncidentWatch(
            store: store,
            looker: looker,
            owner: OwnerID(unchecked: name),
            pace: pace,
            clock: ManualClock(),
            logger: Sample.quiet
        )
    }

    private func trouble(_ isThere: Bool) {
        let seen = Sighting([Sighting.Trouble(nil, "no worker")])
        looker.troubles.withLock { $0 = isThere ? [.noWorker: seen] : [:] }
    }

    private func told() async throws -> [String] {
        let home = store.partition(of: Incident.lane)
        return try await store.entries(partition: home, after: "0", limit: 100)
            .map { "\($0.event.type) \($0.event.status?.description ?? "")" }
    }

    @Test("of two that see the same trouble one tells it, and one tells that it is over")
    func two() async throws {
        let watches = [watch("anna"), watch("bert")]
        for isThere in [true, false] {
            trouble(isThere)
            for _ in 0..<12 {
                for watch in watches { try await watch.look() }
                time.advance(by: pace.pause)
            }
        }
        #expect(try await told() == ["operator.no_worker open", "operator.no_worker resolved"])
        #expect(looker.looks.withLock(\.self) == 24, "one look for both")
    }

    @Test("one that dies between look and tell leaves it to the other")
    func killed() async throws {
        let (anna, bert) = (watch("anna"), watch("bert"))
        trouble(true)
        try await anna.look()
        time.advance(by: pace.hold)
        looker.isCutOff.withLock { $0 = true }
        await #expect(throws: StoreError.self) { try await anna.look() }
        looker.isCutOff.withLock { $0 = false }
        try await bert.look()
        #expect(try await told().isEmpty, "the turn is still its own")
        time.advance(by: pace.turn)
        try await bert.look()
        #expect(try await told() == ["operator.no_worker open"])
    }

    @Test("looks are a fourth of the hold apart, within bounds, and rarer where they are dear")
    func paces() {
        #expect(IncidentPace(hold: .seconds(60)).pause == .seconds(5))
        #expect(IncidentPace(hold: .seconds(12)).pause == .seconds(3))
        #expect(IncidentPace(hold: .zero).pause == .milliseconds(500))
        let pace = IncidentPace(hold: .seconds(60))
        #expect(pace.pause(after: .milliseconds(30)) == .seconds(5))
        #expect(pace.pause(after: .seconds(1)) == .seconds(20))
        #expect(pace.pause(after: .seconds(9)) == .seconds(60))
    }

    @Test("it looks again and again until it is shut down")
    func runs() async throws {
        trouble(true)
        let clock = ManualClock()
        let watch = IncidentWatch(
            store: store,
            looker: looker,
            owner: OwnerID(unchecked: "anna"),
            pace: pace,
            clock: clock,
            logger: Sample.quiet
        )
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await watch.run() }
            for _ in 0..<6 {
                await clock.waitForSleepers(1)
                time.advance(by: pace.pause)
                clock.advance(by: pace.pause)
            }
            await clock.waitForSleepers(1)
            group.cancelAll()
        }
        #expect(try await told() == ["operator.no_worker open"])
    }
}

/// Who hears of the cluster itself.
@Suite("Operators' events")
struct OperatorEventTests {
    private func event() throws -> Event {
        var board = IncidentBoard()
        let seen = [IncidentKind.noWorker: Sighting([Sighting.Trouble(nil, "no worker")])]
        return try #require(board.note(seen, at: VirtualTime.start, hold: .zero).first).event
    }

    private func endpoint(
        _ types: [String],
        account: AccountID = .operators
    ) throws -> Endpoint {
        var endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_1"),
            account: account,
            url: try NotifyURL("mailto:ops@example.com")
        )
        endpoint.scope = try EndpointScope(types: types)
        return endpoint
    }

    @Test("they are heard by whom has named their types, and by no star")
    func asked() throws {
        let event = try event()
        for types in [["operator.*"], ["source.*", "operator.no_worker"]] {
            #expect(event.isAsked(for: types))
        }
        for types in [nil, [], ["*"], ["op*"], ["source.*"], ["operator.backlog"]] {
            #expect(!event.isAsked(for: types), "\(types ?? [])")
        }
        let other = Samples.event()
        #expect(other.isAsked(for: nil) && other.isAsked(for: ["operator.*"]))
    }

    @Test("an endpoint hears of the cluster or of payments, never of both")
    func sides() throws {
        let event = try event()
        #expect(try endpoint(["operator.*"]).wants(event))
        #expect(try endpoint(["operator.no_worker"]).wants(event))
        #expect(!(try endpoint(["operator.backlog"]).wants(event)))
        #expect(!(try endpoint([], account: .main).wants(event)))
        #expect(!(try endpoint(["operator.*"], account: .main).wants(event)))
        try endpoint(["operator.*", "operator.backlog"]).check()
        for types in [[], ["operator.*", "source.*"], ["source.*"]] {
            #expect(throws: InvalidInput.self) { try endpoint(types).check() }
        }
        #expect(throws: InvalidInput.self) {
            try endpoint(["operator.*"], account: .main).check()
        }
        #expect(try Endpoint.account(asking: ["operator.*"], named: nil) == .operators)
        #expect(try Endpoint.account(asking: ["source.*"], named: .main) == .main)
        #expect(throws: InvalidInput.self) {
            try Endpoint.account(asking: ["operator.*"], named: .main)
        }
    }

    @Test("no name from outside is the operators' account, and no token tells of the cluster")
    func names() {
        #expect(throws: InvalidInput.self) { try AccountID(AccountID.operators.description) }
        #expect(throws: InvalidInput.self) { try StreamGrant(types: ["operator.*"]) }
        #expect(LaneID(account: .operators, kind: .incident) == Incident.lane)
        #expect(Incident.lane.accountAndKind?.kind == .incident)
    }

    @Test("operators of the configuration are marked for what tells of the cluster alone")
    func marks() throws {
        let mail = try NotifyURL("mailto:ops@example.com")
        let directory = EndpointDirectory(
            store: MemoryEndpointStore(time: VirtualTime()),
            operators: [mail],
            logger: Sample.quiet
        )
        func marks(_ event: Event) -> [NotifyURL?] {
            OutboxEntry(id: "1-0", partition: 0, event: event, notify: []).inlineMarks(
                directory.operators
            )
            .map(\.url)
        }
        #expect(marks(try event()) == [mail])
        #expect(marks(Samples.event()) == [])
    }

    @Test("that it has begun gives way to no end: both are told")
    func bothAreTold() throws {
        var board = IncidentBoard()
        let seen = [IncidentKind.noWorker: Sighting([Sighting.Trouble(nil, "no worker")])]
        let opened = board.note(seen, at: VirtualTime.start, hold: .zero)
        let over = board.note([.noWorker: Sighting()], at: VirtualTime.start, hold: .zero)
        let events = (opened + over).map(\.event)
        let pending = PendingEvent(in: events, isWhole: true, coalesces: true) { _ in true }
        #expect(pending?.event == events.first && pending?.more == true)
    }
}
