import PollerIdentity
import PollerTesting
import Testing

@testable import PollerPayments
@testable import PollerWatches

@Suite("Order")
struct OrderTests {
    private let key = OrderKey(account: .main, order: OrderID(unchecked: "A77"))

    private func member(_ name: String) -> WatchKey {
        Sample.key("src_\(name)", account: "default")
    }

    private func payment(_ state: PaymentState, at ms: Int64 = 1) -> Payment {
        let received: Amount = state.wasPaid ? 1099 : 0
        return Payment(
            state: state,
            amount: 1099,
            amountReceived: received,
            currency: "eur",
            paidAt: state.wasPaid ? Timestamp(ms: ms) : nil
        )
    }

    @Test("an event of a member counts once, and older events are ignored")
    func notesOnce() {
        var order = Order(key: key)
        #expect(order.note(member("1"), seq: 2, payment(.failed)) == [.order(.failed)])
        let known = order
        #expect(order.note(member("1"), seq: 2, payment(.paid)) == nil)
        #expect(order.note(member("1"), seq: 1, payment(.paid)) == nil)
        #expect(order == known)
        #expect(order.note(member("1"), seq: 3, payment(.paid)) == [.order(.paid)])
        #expect(order.version == 2)
    }

    @Test("awaiting the customer is a change only after a failed attempt")
    func awaiting() {
        var order = Order(key: key)
        #expect(order.note(member("1"), seq: 1, payment(.awaitingCustomer)) == [])
        #expect(order.note(member("1"), seq: 2, payment(.failed)) == [.order(.failed)])
        order.count(1, at: Timestamp(ms: 1))
        let again = order.note(member("2"), seq: 1, payment(.awaitingCustomer))
        #expect(again == [.order(.awaitingCustomer)])
    }

    @Test("every success after the first raises `order.paid_twice` once")
    func paidTwice() {
        var order = Order(key: key)
        #expect(order.note(member("1"), seq: 1, payment(.paid, at: 5)) == [.order(.paid)])
        let second = order.note(member("2"), seq: 1, payment(.paid, at: 9))
        #expect(second == [.order(.paid), .orderPaidTwice])
        #expect(order.summary.paidBy == member("1"))
        #expect(order.summary.alsoPaidBy == [member("2")])
        let reason = Payment(
            state: .paid,
            amount: 1099,
            amountReceived: 1099,
            currency: "eur",
            paidAt: Timestamp(ms: 9),
            reason: .inquiry
        )
        #expect(order.note(member("2"), seq: 2, reason) == [])
        // The earliest payment may be observed last. The payment that was first before is then a duplicate.
        #expect(order.note(member("3"), seq: 1, payment(.paid, at: 1))?.last == .orderPaidTwice)
        #expect(order.summary.paidBy == member("3"))
        // A refunded payment is no duplicate any more.
        _ = order.note(member("1"), seq: 2, payment(.refunded))
        _ = order.note(member("3"), seq: 2, payment(.refunded))
        #expect(order.summary.alsoPaidBy == [])
    }

    @Test("only the first member that requests the right to charge gets it, as often as it asks")
    func right() {
        var order = Order(key: key)
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        let version = order.version
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        #expect(order.take(member("2"), seq: 1) == .refused(member("1")))
        #expect(order.version == version)
    }

    @Test(
        "the right to charge is free after its holder ended without money",
        arguments: PaymentState.allCases
    )
    func freed(_ state: PaymentState) {
        var order = Order(key: key)
        _ = order.note(member("1"), seq: 2, payment(.failed))
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        // An event from before the grant does not describe the charge in progress.
        #expect(order.take(member("2"), seq: 1) == .refused(member("1")))
        _ = order.note(member("1"), seq: 3, payment(state))
        let isFree = [.failed, .expired, .cancelled].contains(state)
        #expect(order.take(member("2"), seq: 1) == (isFree ? .granted(2) : .refused(member("1"))))
    }

    @Test("a watch that was purged and begins again charges with a new right")
    func reborn() {
        func time(_ ms: Int64) -> Timestamp { Timestamp(ms: ms) }
        var order = Order(key: key)
        _ = order.note(member("1"), seq: 3, payment(.failed), at: time(30))
        #expect(order.take(member("1"), seq: 1, at: time(100)) == .granted(1))
        // The earlier failure does not free the right, and the new watch counts from 1.
        #expect(order.take(member("2"), seq: 1, at: time(101)) == .refused(member("1")))
        #expect(order.note(member("1"), seq: 1, payment(.authorised), at: time(90)) != nil)
        #expect(order.take(member("2"), seq: 1, at: time(102)) == .refused(member("1")))
        #expect(order.note(member("1"), seq: 3, payment(.failed), at: time(30)) != nil)
        // A repeat of the very first event is newer by its number only, and frees nothing.
        #expect(order.take(member("2"), seq: 1, at: time(103)) == .refused(member("1")))
        let paid = order.note(member("1"), seq: 2, payment(.paid, at: 110), at: time(110))
        #expect(paid?.last == .order(.paid))
        // Money that was seen is not taken back by the first events of another watch.
        #expect(order.note(member("1"), seq: 1, payment(.authorised), at: time(900)) == nil)
        #expect(order.note(member("1"), seq: 1, payment(.refunded), at: time(901)) != nil)
    }

    @Test("a failure in the poll that got the right frees it, in a later poll of it too")
    func freedByTime() {
        for failedAt in [100, 200] as [Int64] {
            var order = Order(key: key)
            #expect(order.take(member("1"), seq: 9, at: Timestamp(ms: 100)) == .granted(1))
            // The shard of the watch has lost its last events.
            _ = order.note(member("1"), seq: 4, payment(.failed), at: Timestamp(ms: failedAt))
            #expect(order.take(member("2"), seq: 1, at: Timestamp(ms: 300)) == .granted(2))
        }
    }

    @Test("a clock that is set back neither keeps the right nor frees it")
    func clockSetBack() {
        func time(_ ms: Int64) -> Timestamp { Timestamp(ms: ms) }
        var order = Order(key: key)
        #expect(order.take(member("1"), seq: 2, at: time(200)) == .granted(1))
        // The number of the failure shows that it was after the grant.
        #expect(order.note(member("1"), seq: 3, payment(.failed), at: time(100)) != nil)
        // The member requests it again, and its earlier failure looks later than that.
        #expect(order.take(member("1"), seq: 3, at: time(110)) == .granted(2))
        #expect(order.take(member("2"), seq: 1, at: time(120)) == .refused(member("1")))
        #expect(order.note(member("1"), seq: 4, payment(.failed), at: time(110)) != nil)
        #expect(order.take(member("2"), seq: 1, at: time(130)) == .granted(3))
    }

    @Test("a released right is free, and its number is granted again, because its key was not used")
    func released() {
        var order = Order(key: key)
        func reread(_ order: Order) -> Order? {
            Order(stored: order.stored, key: key, createdAt: Timestamp(ms: 0), seq: 0)
        }
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        let granted = order
        for (name, number) in [("2", 1), ("1", 2)] {
            #expect(order.release(member(name), number: number) == false)
        }
        #expect(order == granted)
        for isReleased in [true, false] {
            #expect(order.release(member("1"), number: 1) == isReleased)
            #expect(order.version == granted.version + 1)
        }
        #expect(reread(order)?.grants == 0 && reread(order)?.right == nil)
        #expect(!order.stored.contains("charging"))
        #expect(order.take(member("2"), seq: 1) == .granted(1))
        #expect(order.take(member("1"), seq: 2) == .refused(member("2")))
        // If a failover loses both writes, the first member sends the key that the second one has used.
        var lost = granted
        #expect(lost.take(member("1"), seq: 2) == .granted(1))
        // The number of a right that may have been used is not granted again.
        _ = order.note(member("2"), seq: 2, payment(.failed))
        #expect(order.take(member("1"), seq: 2) == .granted(2))
        #expect(order.release(member("1"), number: 2) == true)
        #expect(reread(order)?.grants == 1 && reread(order)?.right == nil)
        #expect(order.take(member("1"), seq: 2) == .granted(2))
    }

    @Test("a right that two polls of its member have got is not released")
    func usedTwice() {
        var order = Order(key: key)
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        #expect(order.release(member("1"), number: 1) == false)
        // Nor is one that an earlier release of this software has stored.
        var former = Order(key: key)
        #expect(former.take(member("1"), seq: 2) == .granted(1))
        let text = former.stored.replacing(",\"fresh\":true", with: "")
        #expect(text != former.stored)
        var read = Order(stored: text, key: key, createdAt: Timestamp(ms: 0), seq: 0)
        #expect(read?.release(member("1"), number: 1) == false)
    }

    @Test("a member charges again with a new number after its own attempt failed")
    func ownTry() {
        var order = Order(key: key)
        #expect(order.take(member("1"), seq: 2) == .granted(1))
        _ = order.note(member("1"), seq: 3, payment(.failed))
        #expect(order.take(member("1"), seq: 3) == .granted(2))
        #expect(order.take(member("2"), seq: 1) == .refused(member("1")))
    }

    @Test("an order that is paid or may be paid is not charged", arguments: PaymentState.allCases)
    func paid(_ state: PaymentState) {
        var order = Order(key: key)
        _ = order.note(member("1"), seq: 1, payment(state))
        let forbids: Set<PaymentState> = [.paid, .partiallyRefunded, .disputed, .processing]
        let answer = order.take(member("2"), seq: 1)
        #expect(answer == (forbids.contains(state) ? .refused(member("1")) : .granted(1)))
    }

    @Test("a new attempt replaces a failed one, and never one that may still be paid")
    func room() {
        var order = Order(key: key)
        for number in 0..<Order.membersMax {
            let state: PaymentState = number == 7 ? .failed : .processing
            #expect(order.note(member("\(number)"), seq: 1, payment(state)) != nil)
        }
        #expect(order.note(member("new"), seq: 1, payment(.paid)) != nil)
        #expect(!order.members.contains { $0.key == member("7") })
        #expect(order.note(member("newer"), seq: 1, payment(.paid)) == nil)
        #expect(order.members.count == Order.membersMax)
    }

    @Test("an order is remembered while one of its attempts may still be disputed")
    func memory() {
        let day = Duration.seconds(86_400)
        let paidAt = Timestamp(ms: 1_795_165_200_125)
        var order = Order(key: key)
        let disputed = Payment(
            state: .disputed,
            amount: 1099,
            amountReceived: 1099,
            method: PaymentMethod("card"),
            paidAt: paidAt
        )
        // On day 140 of the 150 in which a card payment may go back.
        _ = order.note(member("1"), seq: 1, disputed, at: paidAt + day * 140)
        let until = order.memory?.changesUntil ?? paidAt
        #expect(until >= paidAt + day * 240)
        var returning = Order(key: key)
        let asked = Payment(
            state: .paid,
            amount: 1099,
            amountReceived: 1099,
            method: PaymentMethod("customer_balance"),
            paidAt: paidAt,
            refund: RefundProgress(.requiresAction, 1099)
        )
        // The order of a refund that waits for the customer's account is kept like its payment.
        _ = returning.note(member("1"), seq: 1, asked, at: paidAt + day)
        #expect(returning.memory?.changesUntil ?? paidAt >= paidAt + day * 61)
    }

    @Test("an order is equal to its stored and parsed text")
    func stored() throws {
        var order = Order(key: key, createdAt: Timestamp(ms: 1_795_165_200_125))
        _ = order.note(member("1"), seq: 3, payment(.paid))
        _ = order.note(member("2"), seq: 1, payment(.failed))
        _ = order.take(member("1"), seq: 2)
        #expect(!order.stored.contains("polled_ms"), "as earlier releases store it")
        _ = order.note(member("3"), seq: 1, payment(.failed), at: Timestamp(ms: 77))
        let other = OrderKey(account: .main, order: OrderID(unchecked: "B78"))
        var granted = Order(key: other, createdAt: Timestamp(ms: 5))
        #expect(granted.take(member("1"), seq: 2, at: Timestamp(ms: 78)) == .granted(1))
        let read = Order(
            stored: granted.stored,
            key: other,
            createdAt: Timestamp(ms: 5),
            seq: 0
        )
        #expect(read == granted)
        let back = Order(
            stored: order.stored,
            key: key,
            createdAt: Timestamp(ms: 1_795_165_200_125),
            seq: 0
        )
        #expect(back == order)
        #expect(Order(stored: "x {}", key: key, createdAt: Timestamp(ms: 0), seq: 0) == nil)
    }

    @Test("at most one member may charge, in any mix of members and outcomes", arguments: 0..<200)
    func oneAtATime(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var order = Order(key: key)
        var charging: Set<WatchKey> = []
        var numbers: [Int: WatchKey] = [:]
        var seqs: [WatchKey: Int] = [:]
        for _ in 0..<60 {
            let asking = member("\(Int.random(in: 0..<4, using: &generator))")
            if Bool.random(using: &generator) {
                guard case .granted(let number) = order.take(asking, seq: seqs[asking] ?? 0) else {
                    continue
                }
                // Each number belongs to one member.
                #expect(numbers[number, default: asking] == asking)
                numbers[number] = asking
                charging.insert(asking)
                #expect(charging == [asking], "seed \(seed)")
            } else {
                let states: [PaymentState] = [.failed, .expired, .processing, .authorised]
                let state = states.randomElement(using: &generator) ?? .failed
                seqs[asking, default: 0] += 1
                _ = order.note(asking, seq: seqs[asking] ?? 1, payment(state))
                if state == .failed || state == .expired { charging.remove(asking) }
            }
        }
    }
}
