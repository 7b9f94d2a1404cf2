import PollerIdentity
import PollerIncidents
import PollerTesting
import PollerWatches
import Testing

@testable import PollerDeliveries
@testable import PollerGateway

/// Access to events of the cluster itself over WebSockets and event streams.
@Suite("Subscriptions to cluster events")
struct OperatorSubscriptionTests {
    private func subscription(
        _ types: [String]?,
        accounts: AccountSet = .all
    ) throws -> Subscription {
        try Subscription(
            id: "s1",
            account: nil,
            sources: nil,
            types: types,
            from: .now,
            principal: Principal(name: "a", accounts: accounts),
            limits: GatewayLimits()
        )
    }

    private func event() throws -> Event {
        var board = IncidentBoard()
        let seen = [
            IncidentKind.noWorker: IncidentObservation([
                IncidentObservation.Problem(nil, "no worker")
            ])
        ]
        return try #require(board.note(seen, at: Samples.start, hold: .zero).first).event
    }

    @Test("a subscription receives cluster events only if it names their types")
    func asked() throws {
        let event = try event()
        for types in [["operator.*"], ["source.*", "operator.no_worker"]] {
            let subscription = try subscription(types)
            #expect(
                subscription.interest.matches(event) && subscription.includes(event),
                "\(types)"
            )
        }
        for types in [nil, ["*"], ["source.*"], ["operator.backlog"]] {
            #expect(!(try subscription(types).interest.matches(event)), "\(types ?? [])")
        }
        #expect(try subscription(nil).interest.matches(Samples.event()))
    }

    @Test("credentials bound to accounts cannot subscribe to cluster events")
    func bound() {
        #expect(throws: InvalidInput.self) {
            try subscription(["operator.*"], accounts: .some([.main]))
        }
        #expect(throws: Never.self) { try subscription(["source.*"], accounts: .some([.main])) }
    }
}
