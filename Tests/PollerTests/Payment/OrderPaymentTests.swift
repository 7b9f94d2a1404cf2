import PollerIdentity
import PollerPayments
import PollerTesting
import PollerWatches
import Testing

@Suite("Order payment")
struct OrderPaymentTests {
    private func member(
        _ source: String,
        _ state: PaymentState,
        received: Amount = 0,
        at ms: Int64? = nil
    ) -> OrderPayment.Member {
        OrderPayment.Member(
            key: Sample.key(source),
            payment: Payment(
                state: state,
                amount: 1000,
                amountReceived: received,
                paidAt: ms.map { Timestamp(ms: $0) }
            )
        )
    }

    @Test("the first payment pays the order, and every other one is a duplicate")
    func twice() {
        let late = member("src_1", .paid, received: 1000, at: 20)
        let early = member("src_2", .paid, received: 1000, at: 10)
        let failed = member("src_3", .failed)
        let order = OrderPayment([late, failed, early], amount: 1000)
        #expect(order.payment.state == .paid && order.payment.amountReceived == 2000)
        #expect(order.paidBy == early.key && order.alsoPaidBy == [late.key])
        let mended = OrderPayment([
            member("src_1", .refunded, received: 1000, at: 20), failed, early,
        ])
        #expect(mended.paidBy == early.key && mended.alsoPaidBy.isEmpty)
        #expect(mended.payment.state == .paid)
    }

    @Test("sums of the largest amounts do not overflow")
    func largest() {
        let largest = Payment(
            state: .paid,
            amount: .max,
            amountReceived: .max,
            amountReturned: .max
        )
        let order = OrderPayment(
            ["src_1", "src_2"].map { OrderPayment.Member(key: Sample.key($0), payment: largest) }
        )
        #expect(order.payment.amountReceived == .max && order.payment.amountReturned == .max)
        #expect(order.paidBy != nil && order.alsoPaidBy.count == 1)
    }

    @Test("sums in another currency than the order's are not added")
    func currencies() {
        func member(
            _ source: String,
            _ currency: String?,
            _ state: PaymentState
        ) -> OrderPayment.Member {
            OrderPayment.Member(
                key: Sample.key(source),
                payment: Payment(
                    state: state,
                    amountReceived: 1000,
                    amountReturned: 100,
                    currency: currency,
                    paidAt: Timestamp(ms: source == "src_1" ? 10 : 2000)
                )
            )
        }
        let members = [
            member("src_1", "eur", .paid), member("src_2", "jpy", .paid),
            member("src_3", "eur", .refunded), member("src_4", nil, .refunded),
        ]
        let order = OrderPayment(members)
        #expect(order.payment.currency == "eur")
        #expect(order.payment.amountReceived == 3000 && order.payment.amountReturned == 300)
        #expect(order.alsoPaidBy.count == 1, "it was paid twice all the same")
        let yen = OrderPayment(members, currency: "jpy")
        #expect(yen.payment.currency == "jpy" && yen.payment.amountReceived == 2000)
    }

    @Test("a time known to the second counts as the end of that second")
    func seconds() {
        let seen = member("src_1", .paid, received: 1000, at: 51_573)
        let charged = member("src_2", .paid, received: 1000, at: 51_000)
        #expect(OrderPayment([charged, seen]).paidBy == seen.key)
        #expect(OrderPayment([charged, seen]).alsoPaidBy == [charged.key])
        let later = member("src_3", .paid, received: 1000, at: 52_001)
        #expect(OrderPayment([later, charged]).paidBy == charged.key)
    }

    @Test("any two members give a state that does not depend on their order")
    func pairs() {
        for first in PaymentState.allCases {
            for second in PaymentState.allCases {
                let members = [member("src_1", first, at: 5), member("src_2", second, at: 5)]
                let order = OrderPayment(members)
                #expect(OrderPayment(members.reversed()) == order, "\(first) \(second)")
                #expect([first, second].contains(order.payment.state))
                // The order is paid exactly if a member is.
                let isPaid = first.isPaid || second.isPaid
                #expect(order.payment.state.isPaid == isPaid && (order.paidBy != nil) == isPaid)
                #expect(order.alsoPaidBy.isEmpty == !(first.isPaid && second.isPaid))
            }
        }
        #expect(OrderPayment([]).payment.state == .unknown)
    }

    @Test("open attempts rank before ended ones, and money before both")
    func ranks() {
        let cases: [([PaymentState], PaymentState)] = [
            ([.failed, .awaitingCustomer], .awaitingCustomer),
            ([.refunded, .awaitingCustomer], .awaitingCustomer),
            ([.awaitingCustomer, .processing, .expired], .processing),
            ([.disputed, .authorised], .disputed), ([.failed, .cancelled, .expired], .failed),
            ([.reversed, .refunded, .failed], .reversed), ([.unknown, .cancelled], .cancelled),
        ]
        for (states, expected) in cases {
            let members = states.enumerated().map { member("src_\($0.offset)", $0.element) }
            #expect(OrderPayment(members).payment.state == expected, "\(states)")
        }
    }

    @Test("an order is not charged again while its money is received or in progress")
    func charging() {
        let asking = member("src_1", .authorised)
        for state in PaymentState.allCases {
            let other = member("src_2", state)
            let expected: Set<PaymentState> = [.paid, .partiallyRefunded, .disputed, .processing]
            let isForbidden = OrderPayment.forbidsCharging(asking.key, [asking, other])
            #expect(isForbidden == expected.contains(state), "\(state)")
        }
        // A part of the money was captured from a hold, and the rest is held.
        let held = Payment(state: .partiallyPaid, amountReceived: 400, reason: .held)
        let other = OrderPayment.Member(key: member("src_2", .paid).key, payment: held)
        #expect(OrderPayment.forbidsCharging(asking.key, [asking, other]))
        // A member may complete its own charge.
        #expect(!OrderPayment.forbidsCharging(asking.key, [member("src_1", .processing)]))
    }
}
