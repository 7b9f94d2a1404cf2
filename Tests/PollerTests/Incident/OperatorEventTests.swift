import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerIncidents
@testable import PollerWatches

/// The recipients of events of the cluster.
@Suite("Operators' events")
struct OperatorEventTests {
    private func event() throws -> Event {
        var board = IncidentBoard()
        let seen = [
            IncidentKind.noWorker: IncidentObservation([
                IncidentObservation.Problem(nil, "no worker")
            ])
        ]
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

    @Test("subscribers receive incident events only if they name the types, not with a wildcard")
    func asked() throws {
        let event = try event()
        for types in [["operator.*"], ["source.*", "operator.no_worker"]] {
            #expect(event.isIncluded(for: types))
        }
        for types in [nil, [], ["*"], ["op*"], ["source.*"], ["operator.backlog"]] {
            #expect(!event.isIncluded(for: types), "\(types ?? [])")
        }
        let other = Samples.event()
        #expect(other.isIncluded(for: nil) && other.isIncluded(for: ["operator.*"]))
    }

    @Test("an endpoint receives events of the cluster or of payments, never both")
    func sides() throws {
        let event = try event()
        #expect(try endpoint(["operator.*"]).subscribes(to: event))
        #expect(try endpoint(["operator.no_worker"]).subscribes(to: event))
        #expect(!(try endpoint(["operator.backlog"]).subscribes(to: event)))
        #expect(!(try endpoint([], account: .main).subscribes(to: event)))
        #expect(!(try endpoint(["operator.*"], account: .main).subscribes(to: event)))
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

    @Test("requests cannot use the operators' account, and stream tokens cannot grant its events")
    func names() {
        #expect(throws: InvalidInput.self) { try AccountID(AccountID.operators.description) }
        #expect(throws: InvalidInput.self) { try StreamGrant(types: ["operator.*"]) }
        #expect(LaneID(account: .operators, kind: .incident) == Incident.lane)
        #expect(Incident.lane.accountAndKind?.kind == .incident)
    }

    @Test("configured operators receive events of the cluster only")
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

    @Test("coalescing keeps both the start and the end of an incident")
    func coalescingKeepsBoth() throws {
        var board = IncidentBoard()
        let seen = [
            IncidentKind.noWorker: IncidentObservation([
                IncidentObservation.Problem(nil, "no worker")
            ])
        ]
        let opened = board.note(seen, at: VirtualTime.start, hold: .zero)
        let over = board.note(
            [.noWorker: IncidentObservation()],
            at: VirtualTime.start,
            hold: .zero
        )
        let events = (opened + over).map(\.event)
        let pending = PendingEvent(in: events, isWhole: true, coalesces: true) { _ in true }
        #expect(pending?.event == events.first && pending?.more == true)
    }
}
