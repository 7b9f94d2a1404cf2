import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("ChargeFollowUp")
struct ChargeFollowUpTests {
    /// A charger that finds only the charge of objects named `lost`; objects named `part` lack money, and charges of
    /// objects named `barred` and `busy` are refused before and perhaps after their execution.
    private struct StubCharger: Charger {
        private static let lacking = ChargeResult.incomplete(received: 500, wanted: 1000)

        /// The sources that were charged, in order.
        let charged = Shared<[SourceID]>([])

        func defaultCharge(for account: AccountID) -> ChargeInstruction? { nil }

        func obstacle(to order: ChargeInstruction, object: RawJSON) -> ChargeResult? {
            object.member("name")?.string == "part" ? Self.lacking : nil
        }

        func charge(
            _ watch: Watch,
            _ order: ChargeInstruction,
            by right: ChargeRight?,
            object: RawJSON,
            timeout: Duration
        ) async -> ChargeResult {
            if let obstacle = obstacle(to: order, object: object) { return obstacle }
            switch object.member("name")?.string {
            case "barred": return .postponed("403", retryAfter: nil, isCertain: true)
            case "busy": return .postponed("409", retryAfter: nil)
            default: break
            }
            charged.change { $0.append(watch.key.source) }
            let id = ChargeID(unchecked: "ch_1")
            return .made(ObservedCharge(id: id, status: .succeeded, object: object))
        }

        func find(_ watch: Watch, object: RawJSON, timeout: Duration) async -> ChargeResult {
            guard object.member("name")?.string == "lost" else {
                return .declined(code: "no_charge")
            }
            let id = ChargeID(unchecked: "ch_2")
            return .made(ObservedCharge(id: id, status: .succeeded, object: object))
        }
    }

    private func watch(
        _ source: String = "src_1",
        order: OrderID? = nil,
        state: WatchState = WatchState(status: .chargeable)
    ) -> Watch {
        Watch(
            WatchKey(source),
            createdAt: VirtualTime.start,
            deadline: VirtualTime.start + .seconds(3600),
            seq: 3,
            charge: .whole,
            order: order,
            state: state
        )
    }

    /// Polls a watch once, ten seconds after its start.
    private func poll(
        _ watch: Watch,
        _ status: SourceStatus,
        isReusable: Bool = false,
        object: String = "whole",
        _ charger: StubCharger,
        orders: OrderService? = nil,
        elapsed: @escaping @Sendable () -> Duration = { .zero }
    ) async throws -> Decision<WatchChange> {
        let seen = Observation(
            status: status,
            rank: isReusable ? .steady : status == .consumed ? .final : .pending,
            object: NamedObjects.object(object)
        )
        let handler = PollHandler(
            upstream: ScriptedUpstream(fallback: .observed(seen)),
            followUps: [ChargeFollowUp(charger, orders: orders)],
            timeout: .seconds(8),
            logger: Sample.quiet
        )
        let lease = Lease(watch, at: VirtualTime.start + .seconds(10), for: .seconds(30))
        let decision = await handler.handle(LeasedItem(lease: lease, elapsed: elapsed))
        return try #require(decision)
    }

    @Test("an attempt that lacks money does not keep another attempt of its order from its charge")
    func right() async throws {
        let charger = StubCharger()
        let orders = OrderService(FakeOrderStore())
        let (first, second) = (SourceID(unchecked: "src_1"), SourceID(unchecked: "src_2"))
        let order = OrderID(unchecked: "A77")
        func poll(_ source: SourceID, _ object: String) async throws -> WatchChange {
            try await self.poll(
                watch(source.description, order: order),
                .chargeable,
                object: object,
                charger,
                orders: orders
            ).change
        }
        let part = try await poll(first, "part")
        #expect(part.lastError?.contains("500 of 1000") == true)
        let whole = try await poll(second, "whole")
        #expect(whole.state.charge == .succeeded(ChargeID(unchecked: "ch_1")))
        #expect(charger.charged.value == [second])
        // When the rest arrives, the other attempt has the right.
        let late = try await poll(first, "whole")
        #expect(late.state.charge == .none && late.lastError?.contains("src_2") == true)
        #expect(charger.charged.value == [second])
    }

    @Test(
        "only an attempt that has certainly charged nothing releases the right to charge its order",
        arguments: [
            (["barred"], .none, true), (["barred", "barred"], .none, true),
            (["busy"], .none, false), (["busy", "barred"], .none, false),
            (["barred"], .doubtful, false),
        ] as [([String], ChargeProgress, Bool)]
    )
    func release(_ objects: [String], _ progress: ChargeProgress, isReleased: Bool) async throws {
        let charger = StubCharger()
        let orders = OrderService(FakeOrderStore())
        let order = OrderID(unchecked: "A77")
        for object in objects {
            let state = WatchState(status: .chargeable, charge: progress)
            let decision = try await poll(
                watch(order: order, state: state),
                .chargeable,
                object: object,
                charger,
                orders: orders
            )
            #expect(decision.change.state.charge == progress)
        }
        let second = watch("src_2", order: order)
        _ = try await poll(second, .chargeable, charger, orders: orders)
        #expect(charger.charged.value == (isReleased ? [second.key.source] : []))
    }

    @Test("an attempt in doubt whose order another one pays searches its own charge")
    func inDoubt() async throws {
        let charger = StubCharger()
        let orders = OrderService(FakeOrderStore())
        let order = OrderID(unchecked: "A77")
        let other = watch("src_2", order: order)
        _ = try await poll(other, .chargeable, charger, orders: orders)
        let own = ChargeProgress.succeeded(ChargeID(unchecked: "ch_2"))
        let cases: [(String, ChargeProgress, ChargeProgress)] = [
            ("lost", .doubtful, own), ("whole", .doubtful, .doubtful), ("lost", .none, .none),
        ]
        for (object, before, after) in cases {
            let late = try await poll(
                watch(order: order, state: WatchState(status: .chargeable, charge: before)),
                .chargeable,
                isReusable: true,
                object: object,
                charger,
                orders: orders
            )
            #expect(late.change.state.charge == after)
            #expect((late.change.lastError == nil) == (after == own))
        }
        #expect(charger.charged.value == [other.key.source])
    }

    @Test("an attempt whose lease is about to end after the grant releases the right")
    func slowStore() async throws {
        let charger = StubCharger()
        // The store answers shortly before the end of the lease.
        let elapsed = Shared(Duration.zero)
        let store = FakeOrderStore { elapsed.change { $0 = .milliseconds(29_500) } }
        let orders = OrderService(store)
        let order = OrderID(unchecked: "A77")
        let late = try await poll(
            watch(order: order),
            .chargeable,
            charger,
            orders: orders,
            elapsed: { elapsed.value }
        )
        #expect(late.change.lastError?.contains("lease") == true)
        let second = watch("src_2", order: order)
        _ = try await poll(second, .chargeable, charger, orders: orders)
        #expect(charger.charged.value == [second.key.source])
    }

    @Test("a charge with a lost answer that is not listed yet is searched again, six times at most")
    func lagging() async throws {
        // One answer to the charge was lost.
        var state = WatchState(status: .chargeable, failures: 1, charge: .doubtful)
        var searches = 1
        var decision = try await poll(watch(state: state), .consumed, StubCharger())
        while case .next = decision.verdict, searches < 20 {
            #expect(decision.change.events.isEmpty)
            #expect(decision.change.state.status == .chargeable)
            #expect(decision.change.state.charge == .doubtful)
            state = decision.change.state
            decision = try await poll(watch(state: state), .consumed, StubCharger())
            searches += 1
        }
        #expect(decision.verdict == .close(.settled) && searches == 6)
        // If no charge was tried, the status is reported at once.
        let unordered = try await poll(watch(), .consumed, StubCharger())
        #expect(unordered.verdict == .close(.settled))
    }
}
