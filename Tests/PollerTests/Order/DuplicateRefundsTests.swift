import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import Poller
@testable import PollerDeliveries
@testable import PollerPayments
@testable import PollerWatches

@Suite("Refunds of duplicate payments")
struct DuplicateRefundsTests {
    private let rig = WorkerRig()
    private let key = OrderKey(account: .main, order: OrderID(unchecked: "A77"))

    private func money(refunded: Amount = 0) -> ChargeFacts {
        var money = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
        money.captured = 1099
        money.refunded = refunded
        money.paidAt = VirtualTime.start
        return money
    }

    private var consumed: PaymentFacts {
        var facts = PaymentFacts(kind: .source)
        facts.status = .consumed
        facts.amount = 1099
        return facts
    }

    @Test("a refunded duplicate has the reason `duplicate`, and keeps it on later polls")
    func reported() throws {
        let before = PaymentReading(consumed, after: PaymentMemory(money: money()))
        #expect(before.payment.state == .paid)
        let back = PaymentReading(
            consumed.refundedAsDuplicate(after: before.memory.money, .made),
            after: before.memory
        )
        #expect(back.payment.state == .refunded && back.payment.reason == .duplicate)
        #expect(back.payment.amountReturned == 1099 && back.hasPaymentChange)
        #expect(back.memory.packed.utf8.count <= 64)
        // The charge shows only that it was refunded, not why.
        var seen = consumed
        seen.charge = money(refunded: 1099)
        let memory = PaymentMemory(
            packed: back.memory.packed,
            charge: ChargeID(unchecked: "ch_1")
        )
        let again = PaymentReading(seen, after: memory)
        #expect(again.payment.reason == .duplicate && !again.hasChanges)
        // A refund by the shop is not a duplicate's refund.
        #expect(Payment(seen.following(nil)).reason == nil)
    }

    @Test(
        "a duplicate is reported as refunded only after its refund has succeeded",
        arguments: [RefundProgress.Status.pending, .requiresAction]
    )
    func underway(status: RefundProgress.Status) {
        let before = PaymentReading(consumed, after: PaymentMemory(money: money()))
        let open = PaymentReading(
            consumed.refundedAsDuplicate(after: before.memory.money, .underway(status)),
            after: before.memory
        )
        #expect(open.payment.state == .paid && open.payment.amountReturned == 0)
        #expect(open.payment.refund == RefundProgress(status, 1099) && open.hasRefundChange)
        let memory = PaymentMemory(
            packed: open.memory.packed,
            charge: ChargeID(unchecked: "ch_1")
        )
        #expect(memory.money?.isDuplicate == true, "none is asked for again")
        var seen = consumed
        seen.charge = money()
        seen.charge?.refund = RefundProgress(status, 1099)
        #expect(!PaymentReading(seen, after: memory).hasChanges)
        seen.charge = money(refunded: 1099)
        let back = PaymentReading(seen, after: memory)
        #expect(back.payment.state == .refunded && back.payment.reason == .duplicate)
    }

    @Test("a duplicate that an operator's open refund covers is only marked")
    func covered() {
        let before = PaymentReading(consumed, after: PaymentMemory(money: money()))
        var seen = consumed
        seen.charge = money()
        seen.charge?.refund = RefundProgress(.pending, 1099)
        let open = PaymentReading(
            seen.refundedAsDuplicate(after: before.memory.money, .covered),
            after: before.memory
        )
        #expect(open.payment.state == .paid && open.payment.amountReturned == 0)
        #expect(open.hasRefundChange && open.memory.money?.isDuplicate == true)
    }

    @Test("a duplicate is polled only if its account has duplicate refunds enabled")
    func hinted() async throws {
        let members = ["1", "2"].map { Sample.key("src_\($0)", account: "default") }
        _ = try await rig.store.enqueue(
            try members.map { try NewWatch(key: $0, order: key.order) }
        )
        let service = OrderService(FakeOrderStore())
        var reported: [Event] = []
        for (place, member) in members.enumerated() {
            reported += try await service.note(
                paid(member, at: VirtualTime.start + .seconds(place))
            )
        }
        let twice = try #require(reported.last)
        #expect(twice.type == "order.paid_twice")
        #expect(try await service.order(key)?.summary.alsoPaidBy == [members[1]])
        func note(_ accounts: Set<AccountID>, _ event: Event) async throws -> [Bool] {
            let refunds = DuplicateRefunds(
                accounts: { accounts },
                orders: service,
                watches: rig.store
            )
            try await refunds.note(event)
            var hinted: [Bool] = []
            for member in members {
                hinted.append(try await rig.store.snapshot(of: member)?.watch.hintedAt != nil)
            }
            return hinted
        }
        #expect(try await note([], twice) == [false, false])
        #expect(try await note([.main], reported[0]) == [false, false])
        #expect(try await note([.main], twice) == [false, true])
    }

    @Test("a duplicate whose watch is cancelled or deleted is logged, because nothing refunds it")
    func unreachable() async throws {
        let members = ["1", "2", "3"].map { Sample.key("src_\($0)", account: "default") }
        // The third watch does not exist any more.
        _ = try await rig.store.enqueue(
            try members.prefix(2).map { try NewWatch(key: $0, order: key.order) }
        )
        let service = OrderService(FakeOrderStore())
        var reported: [Event] = []
        for (place, member) in members.enumerated() {
            reported += try await service.note(
                paid(member, at: VirtualTime.start + .seconds(place))
            )
        }
        let twice = try #require(reported.last)
        #expect(twice.type == "order.paid_twice")
        let refunds = DuplicateRefunds(
            accounts: { [.main] },
            orders: service,
            watches: rig.store
        )
        #expect(try await refunds.note(twice) == Array(members.suffix(1)))
        let second = try #require(members.dropFirst().first)
        #expect(try await rig.store.cancel(second))
        #expect(try await refunds.note(twice) == Array(members.suffix(2)))
        let log = RecordedLog()
        let updater = OrderUpdater(
            orders: nil,
            refunds: refunds,
            clock: rig.clock,
            logger: log.logger
        )
        let entry = OutboxEntry(id: "1-0", partition: 0, event: twice, notify: [])
        #expect(await updater.note([entry], of: .main).isEmpty)
        let warning = "warning: a duplicate payment is not refunded"
        #expect(log.has(warning, "source=src_2") && log.has(warning, "source=src_3"))
        #expect(log.has(warning, "order=A77") && !log.has(warning, "source=src_1"))
    }

    @Test("a postponed refund changes nothing and is retried")
    func postponed() {
        var generator = SeededGenerator(seed: 7)
        let now = VirtualTime.start
        let watch = Watch(
            Sample.key(),
            createdAt: now,
            deadline: now + .seconds(3600),
            seq: 3,
            order: key.order,
            state: WatchState(status: .consumed)
        )
        let decision = PollDecider().decide(
            PollContext(watch, at: now),
            .refundPostponed(
                Observation(status: .consumed, final: true, object: nil),
                "429",
                retryAfter: .seconds(7)
            ),
            using: &generator
        )
        guard case .next(let wait) = decision.verdict else { return fail("\(decision.verdict)") }
        #expect(wait >= .seconds(7) && decision.change.events.isEmpty)
        #expect(decision.change.lastError?.contains("paid twice") == true)
    }

    private func paid(_ member: WatchKey, at instant: Timestamp) -> Event {
        let watch = Watch(
            member,
            createdAt: VirtualTime.start,
            deadline: VirtualTime.start + .seconds(60),
            order: key.order
        )
        return Event(
            watch,
            of: .payment(.paid),
            payment: Payment(
                state: .paid,
                amount: 1099,
                amountReceived: 1099,
                currency: "eur",
                paidAt: instant
            ),
            isLive: true,
            polledAt: instant
        )
    }
}
