import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("DeadlineFollowUp")
struct DeadlineFollowUpTests {
    /// A settler with one result.
    private struct StubSettler: Settler {
        let result: SettleResult

        func defaults(for account: AccountID) -> DeadlineActs { .unset }

        func settle(_ watch: Watch, by act: DeadlineAct, timeout: Duration) async -> SettleResult {
            result
        }
    }

    @Test(
        "only an attempt that has certainly captured nothing releases the right to its order",
        arguments: [
            (.refused("no"), true), (.postponed("403", retryAfter: nil, isCertain: true), true),
            (.postponed("409", retryAfter: nil), false), (.unknown("503"), false), (.done, false),
        ] as [(SettleResult, Bool)]
    )
    func release(_ result: SettleResult, isReleased: Bool) async throws {
        let reader = DeadlineActTests().reader
        // A hold of ten days is captured when a tenth of it is left.
        let now = VirtualTime.start + .seconds(9 * 86_400)
        var facts = try #require(reader.known["held"])
        facts.seenAt = now
        func watch(_ intent: String) -> Watch {
            Watch(
                WatchKey(intent, kind: .paymentIntent),
                createdAt: VirtualTime.start,
                deadline: VirtualTime.start + .seconds(30 * 86_400),
                seq: 2,
                acts: DeadlineActs(authorisation: .capture),
                order: OrderID(unchecked: "A77"),
                state: WatchState(status: .requiresCapture),
                payment: PaymentMemory(packed: PaymentReading(facts, after: nil).memory.packed)
            )
        }
        let orders = OrderService(FakeOrderStore())
        let seen = Observation(
            status: .requiresCapture,
            final: false,
            object: NamedObjects.object("held")
        )
        let handler = PollHandler(
            upstream: ScriptedUpstream(fallback: .observed(seen)),
            followUps: [
                DeadlineFollowUp(
                    StubSettler(result: result),
                    orders: orders,
                    logger: Sample.quiet
                )
            ],
            payments: reader,
            timeout: .seconds(8),
            logger: Sample.quiet
        )
        let (first, second) = (watch("pi_1"), watch("pi_2"))
        let lease = Lease(first, at: now, for: .seconds(30))
        let decision = await handler.handle(LeasedItem(lease: lease, elapsed: { .zero }))
        #expect(decision?.change.events.isEmpty == true)
        let wanted: Order.Answer = isReleased ? .granted(1) : .refused(first.key)
        #expect(try await orders.take(second, at: now) == wanted)
    }
}
