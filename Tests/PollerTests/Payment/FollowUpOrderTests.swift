import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

/// The handler has the follow-ups of ``PaymentFollowUps``, like those of `pollerd`.
@Suite("Order of charge, refund and deadline actions")
struct FollowUpOrderTests: PaymentFixtures {
    /// Records the requested actions in order.
    private struct Actions: Charger, Settler {
        /// The result of a refund, or `nil` if the account does not refund duplicates.
        let refund: RefundResult?
        let calls = Shared<[String]>([])

        func defaultCharge(for account: AccountID) -> ChargeInstruction? { nil }

        func charge(
            _ watch: Watch,
            _ order: ChargeInstruction,
            by right: ChargeRight?,
            object: RawJSON,
            timeout: Duration
        ) async -> ChargeResult {
            .indeterminate("no charge is expected")
        }

        func find(_ watch: Watch, object: RawJSON, timeout: Duration) async -> ChargeResult {
            calls.change { $0.append("find") }
            let object = NamedObjects.object("charge")
            let id = ChargeID(unchecked: "ch_1")
            return .made(ObservedCharge(id: id, status: .succeeded, object: object))
        }

        func refundsDuplicates(of account: AccountID) -> Bool { refund != nil }

        func refundDuplicate(
            _ watch: Watch,
            of first: WatchKey,
            charge: ChargeID?,
            object: RawJSON,
            timeout: Duration
        ) async -> RefundResult {
            calls.change { $0.append(charge.map { "refund \($0)" } ?? "refund") }
            return refund ?? .refused("no refund is expected")
        }

        func defaults(for account: AccountID) -> DeadlineActs {
            DeadlineActs(authorisation: .cancel)
        }

        func settle(_ watch: Watch, by act: DeadlineAct, timeout: Duration) async -> SettleResult {
            calls.change { $0.append(act.rawValue) }
            return .done
        }
    }

    /// Polls the second payment of an order without a change of its object since the last poll.
    ///
    /// A source was charged by a charge unknown to the watch. A quarter of an intent's hold is captured, and the rest
    /// ends in a day.
    ///
    /// `refund` is the refund that the charge shows, `isPartLost` whether the order's first payment lost a part to a
    /// dispute.
    private func poll(
        _ kind: SourceKind,
        _ actions: Actions,
        refund: RefundProgress? = nil,
        isPartLost: Bool = false
    ) async throws -> WatchChange {
        var reader = DeadlineActTests().reader
        reader.known["source"] = source("consumed")
        var shown = charge(.succeeded)
        shown.charge?.refund = refund
        reader.known["charge"] = shown
        let isSource = kind == .source
        let status = isSource ? SourceStatus.consumed : .requiresCapture
        let name = isSource ? "source" : "half"
        let now = VirtualTime.start + .seconds(9 * 86_400)
        var facts = try #require(reader.known[name])
        facts.seenAt = now
        let watch = Watch(
            WatchKey(account: .main, source: SourceID(unchecked: "src_2"), kind: kind),
            createdAt: VirtualTime.start,
            deadline: VirtualTime.start + .seconds(30 * 86_400),
            seq: 2,
            pendingHint: .money,
            order: OrderID(unchecked: "A77"),
            state: WatchState(status: status),
            payment: PaymentMemory(packed: PaymentReading(facts, after: nil).memory.packed)
        )
        let store = FakeOrderStore()
        var order = Order(key: try #require(OrderKey(of: watch)))
        let first = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: kind)
        for (place, member) in [first, watch.key].enumerated() {
            let isLost = isPartLost && member == first
            let payment = Payment(
                state: isLost ? .partiallyRefunded : .paid,
                paidAt: VirtualTime.start + .seconds(place),
                reason: isLost ? .disputeLost : nil
            )
            _ = order.note(member, seq: 2, payment)
        }
        #expect(try await store.store(order, over: 0, recording: []))
        let orders = OrderService(store)
        let object = NamedObjects.object(name)
        let seen = Observation(status: status, final: isSource, object: object)
        let handler = PollHandler(
            upstream: ScriptedUpstream(fallback: .observed(seen)),
            followUps: PaymentFollowUps.inOrder(
                charger: actions,
                settler: actions,
                orders: orders,
                logger: Sample.quiet
            ),
            payments: reader,
            timeout: .seconds(8),
            logger: Sample.quiet
        )
        let lease = Lease(watch, at: now, for: .seconds(30))
        let decision = await handler.handle(LeasedItem(lease: lease, elapsed: { .zero }))
        return try #require(decision).change
    }

    @Test("the charge comes before the refund, and a postponed refund discards the charge's result")
    func chargeAndRefund() async throws {
        let made = Actions(refund: .made)
        let charged = try await poll(.source, made)
        #expect(made.calls.value == ["find", "refund ch_1"])
        #expect(charged.state.charge == .succeeded(ChargeID(unchecked: "ch_1")))
        let postponed = Actions(refund: .postponed("429", retryAfter: nil))
        let change = try await poll(.source, postponed)
        #expect(postponed.calls.value == made.calls.value)
        #expect(change.state.charge == .none && change.events.isEmpty)
        #expect(change.lastError?.contains("paid twice") == true)
    }

    @Test("while an operator's refund of everything is pending, no other is requested")
    func openRefund() async throws {
        let actions = Actions(refund: .made)
        let open = RefundProgress(.pending, 1099)
        let change = try await poll(.source, actions, refund: open)
        #expect(actions.calls.value == ["find"])
        let types = change.events.map(\.type)
        #expect(types.contains("refund.pending") && !types.contains("payment.refunded"))
        // A refund of a part leaves the rest to be refunded.
        let partly = Actions(refund: .made)
        _ = try await poll(.source, partly, refund: RefundProgress(.pending, 1))
        #expect(partly.calls.value == ["find", "refund ch_1"])
    }

    @Test("no duplicate is refunded if a lost dispute has taken a part of the first payment")
    func partLost() async throws {
        let actions = Actions(refund: .made)
        let change = try await poll(.source, actions, isPartLost: true)
        #expect(actions.calls.value == ["find"])
        #expect(!change.events.contains { $0.type == "payment.refunded" })
    }

    @Test(
        "the refund comes before the deadline action, which waits for another poll",
        arguments: [
            RefundResult.refused("no"), .failed("no"), .made, .underway(.pending),
            .postponed("429", retryAfter: nil),
        ]
    )
    func refundAndDeadline(_ result: RefundResult) async throws {
        let actions = Actions(refund: result)
        _ = try await poll(.paymentIntent, actions)
        #expect(actions.calls.value == ["refund"])
    }

    @Test("without a refund the same poll takes the deadline action")
    func deadline() async throws {
        let actions = Actions(refund: nil)
        _ = try await poll(.paymentIntent, actions)
        #expect(actions.calls.value == ["release"])
    }
}
