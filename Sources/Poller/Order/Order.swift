package import PollerIdentity
import PollerQueue
import SafeNumbers

extension SourceKind {
    /// An order, as an item of the queue: it has a log and is told like a watch, and is never due.
    ///
    /// Nobody can ask for a watch of it. Releases that know no orders carry its events as they carry
    /// those of any kind they do not know.
    package static let order = SourceKind.other("order")
}

/// What names an order: its account, and what the shop calls it.
package struct OrderKey: Hashable, Sendable {
    package let account: AccountID
    package let order: OrderID

    /// Names an order.
    package init(account: AccountID, order: OrderID) {
        self.account = account
        self.order = order
    }

    /// The order that a watch pays; nil when it names none.
    package init?(of watch: Watch) {
        guard let order = watch.order else { return nil }
        self.init(account: watch.key.account, order: order)
    }

    /// The item of the queue that it is; all orders of an account share a lane, and so a partition.
    package var watch: WatchKey {
        let source = SourceID(unchecked: order.description)
        return WatchKey(account: account, source: source, kind: .order)
    }
}

/// An order as it is known: the ways in which it was tried to be paid, and which of them may be
/// charged.
///
/// *Problem*: a customer who has waited too long begins anew, with another card or another bank, and
/// both tries may bring money. Each has a watch of its own, whose events tell of it alone.
/// *Approach*: a pure state machine. ``note(_:seq:_:)`` takes over what an event of a member says, once
/// however often it is told; what is true of the order is found anew each time (``OrderPayment``), and
/// what has changed by that is to be told. ``take(_:seq:)`` gives the right to charge to one member.
///
/// *The right* is with the first that asks. It is free again once that member's payment is known to have
/// ended without money *after* it was taken: what was noted before says nothing of a charge that is
/// under way. Each time it goes to somebody its number is raised, and the number is part of the charge's
/// idempotency key: two that hold the same number, because a store has lost its last writes, send the
/// same key, and the upstream itself refuses the second.
///
/// *Versions*: each change raises ``version``. A store takes a change only over the version it was made
/// of, so that of two processes one reads again.
package struct Order: Hashable, Sendable {
    /// Tries that are kept; a shop that makes more has a loop, not a customer.
    package static let membersMax = 100

    /// One way in which the order was tried to be paid.
    package struct Member: Hashable, Sendable {
        package let key: WatchKey
        /// The number of the event that has told it last; 0 before the first.
        package let seq: Int
        package let payment: Payment

        /// Describes a member.
        package init(key: WatchKey, seq: Int, payment: Payment) {
            self.key = key
            self.seq = seq
            self.payment = payment
        }

        /// Whether it has ended, and nothing was ever taken.
        var hasFailed: Bool { [.failed, .expired, .cancelled].contains(payment.state) }
    }

    /// The right to charge the order.
    package struct Right: Hashable, Sendable {
        /// Who has it.
        package let holder: WatchKey
        /// The holder's last event when it was taken.
        package let seq: Int
        /// How many times it has gone to somebody; from 1.
        package let number: Int

        /// Describes a right.
        package init(holder: WatchKey, seq: Int, number: Int) {
            self.holder = holder
            self.seq = seq
            self.number = number
        }
    }

    package let key: OrderKey
    /// When it became known; nil before a store has said so.
    package private(set) var createdAt: Timestamp?
    /// Events recorded of it.
    package private(set) var seq: Int
    /// Changes so far; 0 before it is stored.
    package private(set) var version: Int
    /// In the order in which they became known.
    package private(set) var members: [Member]
    /// Who may charge it; nil before anybody has asked.
    package private(set) var right: Right?

    /// Puts an order together, as a store does; by default one that nobody has known.
    package init(
        key: OrderKey,
        createdAt: Timestamp? = nil,
        seq: Int = 0,
        version: Int = 0,
        members: [Member] = [],
        right: Right? = nil
    ) {
        self.key = key
        self.createdAt = createdAt
        self.seq = SafeInteger.count(seq)
        self.version = SafeInteger.count(version)
        self.members = members
        self.right = right
    }

    /// What is true of it.
    package var truth: OrderPayment {
        OrderPayment(members.map { OrderPayment.Member(key: $0.key, payment: $0.payment) })
    }

    /// Takes over what is true of a member since its event number `seq`.
    ///
    /// - Returns: what is to be told of the order, which may be nothing; nil when it was known, or
    ///   when there is no more room (``membersMax``).
    package mutating func note(
        _ member: WatchKey,
        seq: Int,
        _ payment: Payment
    ) -> [EventSubject]? {
        let before = truth
        let noted = Member(key: member, seq: seq, payment: payment)
        if let place = members.firstIndex(where: { $0.key == member }) {
            guard members[place].seq < seq else { return nil }
            members[place] = noted
        } else {
            guard add(noted) else { return nil }
        }
        version += 1
        return news(since: before)
    }

    /// Takes over a member that has just become known; false when it was known already.
    package mutating func join(_ member: Member) -> Bool {
        guard !members.contains(where: { $0.key == member.key }), add(member) else { return false }
        version += 1
        return true
    }

    /// What came of asking for the right to charge.
    package enum Answer: Hashable, Sendable {
        /// It may be charged; the number goes into the idempotency key.
        case granted(Int)
        /// Another member has the money, or the right to it.
        case refused(WatchKey)
    }

    /// Asks for the right to charge, for a member whose last event was number `seq`.
    ///
    /// Whoever has it gets it again, as it was: a try that was cut off is repeated.
    package mutating func take(_ member: WatchKey, seq: Int) -> Answer {
        let paid = members.first { other in
            OrderPayment.forbidsCharging(
                member,
                [OrderPayment.Member(key: other.key, payment: other.payment)]
            )
        }
        if let paid { return .refused(paid.key) }
        if let right, !isFree(right) {
            return right.holder == member ? .granted(right.number) : .refused(right.holder)
        }
        let number = (right?.number ?? 0).addingSaturating(1)
        right = Right(holder: member, seq: seq, number: number)
        version += 1
        return .granted(number)
    }

    /// Counts events that are recorded with a change; the first change says when it became known.
    mutating func count(_ events: Int, at instant: Timestamp) {
        seq += events
        createdAt = createdAt ?? instant
    }

    /// Whether the holder's payment has ended without money since it took the right.
    private func isFree(_ right: Right) -> Bool {
        members.contains { $0.key == right.holder && $0.seq > right.seq && $0.hasFailed }
    }

    /// Adds a member, in the place of the oldest that has failed when there is no room.
    private mutating func add(_ member: Member) -> Bool {
        if members.count >= Self.membersMax {
            let old = members.firstIndex { $0.hasFailed && $0.key != right?.holder }
            guard let old else { return false }
            members.remove(at: old)
        }
        members.append(member)
        return true
    }

    /// What has changed since something else was true.
    ///
    /// That the customer is awaited is no news before anything else was told: the shop has just sent
    /// them on the way.
    private func news(since before: OrderPayment) -> [EventSubject] {
        let after = truth
        let (was, now) = (before.payment, after.payment)
        let isSame =
            was.state == now.state && was.reason == now.reason
            && was.amountReceived == now.amountReceived
            && was.amountReturned == now.amountReturned
        let isBeginning = seq == 0 && (now.state == .awaitingCustomer || now.state == .unknown)
        var subjects: [EventSubject] = []
        if !isSame, !isBeginning { subjects.append(.order(now.state)) }
        if !Set(after.alsoPaidBy).isSubset(of: before.alsoPaidBy) {
            subjects.append(.orderPaidTwice)
        }
        return subjects
    }
}
