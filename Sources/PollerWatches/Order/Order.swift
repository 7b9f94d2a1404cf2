package import PollerIdentity
package import PollerPayments
import PollerQueue
import SafeNumbers

extension SourceKind {
    /// An order as an item of the queue: it has a log and events like a watch, and is never due.
    ///
    /// A request cannot watch it. Releases without orders pass its events on like those of any unknown kind.
    package static let order = SourceKind.other("order")
}

/// The identity of an order: its account and the shop's name for it.
package struct OrderKey: Hashable, Sendable {
    package let account: AccountID
    package let order: OrderID

    package init(account: AccountID, order: OrderID) {
        self.account = account
        self.order = order
    }

    /// Creates the key of a watch's order; `nil` without one.
    package init?(of watch: Watch) {
        guard let order = watch.order else { return nil }
        self.init(account: watch.key.account, order: order)
    }

    /// The key of its item in the queue; all orders of an account share a lane, and so a partition.
    package var watch: WatchKey {
        let source = SourceID(unchecked: order.description)
        return WatchKey(account: account, source: source, kind: .order)
    }
}

/// An order: the attempts to pay it, and the right to charge it.
///
/// *Problem*: an impatient customer starts again, with another card or another bank, and both attempts may succeed.
/// Each has its own watch, and its events are only about that watch. *Approach*: a pure state machine.
/// ``note(_:seq:_:)`` applies an event of a member, once for any number of calls. The state of the order is derived
/// each time (``OrderPayment``), and its changes are reported. ``take(_:seq:)`` grants the right to charge to one
/// member.
///
/// *The right* goes to the first member that requests it. It is free again once that member's payment has ended without
/// money *after* the grant, because earlier events say nothing about a charge in progress. It is also free once the
/// poll that got it has released it, because that poll has certainly charged nothing (``release(_:number:)``). So a
/// member keeps it only while a charge may have been made. Each grant raises its number, which is part of the charge's
/// idempotency key. The key of a released right was not used, so the next grant has its number. If a store has lost its
/// last writes, two members may have the same number. They then send the same key, and the upstream rejects the second
/// charge.
///
/// *Event numbers* begin again at 1 when a watch was purged and its source is enqueued again, and go back when the
/// shard of the watch loses its last writes. So a lower number counts if its poll was later, unless it would take back
/// money that an earlier event has shown. Only an event of the poll that got the right, or of a later one, frees it.
/// Its number is higher than all known at the grant, even if the clock was set back since, or its time is later.
///
/// *Versions*: each change raises ``version``. A store accepts a change only over the version it was derived from, so
/// of two processes one reads again.
package struct Order: Hashable, Sendable {
    /// The maximum number of attempts, which only a loop in a shop's code exceeds.
    package static let membersMax = 100

    /// One attempt to pay the order.
    package struct Member: Hashable, Sendable {
        package let key: WatchKey
        /// The number of its last applied event; 0 before the first.
        package let seq: Int
        package let payment: Payment
        /// The latest time of a poll whose event was applied, or of a grant before it; `nil` if it is unknown.
        package var polledAt: Timestamp?

        /// Whether it has ended without any money.
        var hasFailed: Bool { [.failed, .expired, .cancelled].contains(payment.state) }

        /// Whether an event is newer than the last applied one.
        func isOlder(than event: Member) -> Bool {
            if seq < event.seq { return true }
            guard let polledAt, let later = event.polledAt, polledAt < later else { return false }
            // The first events of a watch that was purged say less about received money than those before the purge.
            if event.payment.state.wasPaid { return true }
            return !payment.state.wasPaid
                && event.payment.amountReceived >= payment.amountReceived
        }
    }

    /// The right to charge the order.
    package struct Right: Hashable, Sendable {
        /// The member that has it.
        package let holder: WatchKey
        /// The number of the holder's last event at the grant; if its numbers began again, the last known one.
        package let seq: Int
        /// The number of grants, from 1; those that were released do not count.
        package let number: Int
        /// The time of the poll that got it, but later than a failure before the grant; `nil` if it is unknown.
        package var polledAt: Timestamp?
        /// Whether only one poll has got it, so that this poll knows whether it was used; false if that is unknown.
        package var isFresh = false
    }

    package let key: OrderKey
    /// The time at which it became known; `nil` before it is stored.
    package private(set) var createdAt: Timestamp?
    /// The number of recorded events.
    package private(set) var seq: Int
    /// The number of changes; 0 before it is stored.
    package private(set) var version: Int
    /// The attempts, in the order in which they became known.
    package private(set) var members: [Member]
    /// The current right to charge it; `nil` before the first grant, and after a release.
    package private(set) var right: Right?
    /// The number of grants; those that were released do not count.
    package private(set) var grants: Int

    /// Creates an order from the fields of a store; the defaults are those of a new one.
    package init(
        key: OrderKey,
        createdAt: Timestamp? = nil,
        seq: Int = 0,
        version: Int = 0,
        members: [Member] = [],
        right: Right? = nil,
        grants: Int = 0
    ) {
        self.key = key
        self.createdAt = createdAt
        self.seq = SafeInteger.count(seq)
        self.version = SafeInteger.count(version)
        self.members = members
        self.right = right
        self.grants = max(SafeInteger.count(grants), right?.number ?? 0)
    }

    /// The payment state of the order.
    package var summary: OrderPayment {
        OrderPayment(members.map { OrderPayment.Member(key: $0.key, payment: $0.payment) })
    }

    /// Applies the payment of a member as of its event number `seq`, which a poll at `polledAt` recorded.
    ///
    /// - Returns: the changes of the order to report, possibly none; `nil` when the event was applied before, or when
    ///   there is no more room (``membersMax``).
    package mutating func note(
        _ member: WatchKey,
        seq: Int,
        _ payment: Payment,
        at polledAt: Timestamp? = nil
    ) -> [EventSubject]? {
        let before = summary
        var noted = Member(key: member, seq: seq, payment: payment, polledAt: polledAt)
        // By its number, the event is of the poll that got the right, or of a later one.
        let granted = right.flatMap { $0.holder == member && seq > $0.seq ? $0.polledAt : nil }
        if let index = members.firstIndex(where: { $0.key == member }) {
            let known = members[index]
            guard known.isOlder(than: noted) else { return nil }
            // A clock that was set back must not make an earlier event look later.
            noted.polledAt = [known.polledAt, polledAt, granted].compactMap(\.self).max()
            members[index] = noted
        } else {
            noted.polledAt = [polledAt, granted].compactMap(\.self).max()
            guard add(noted) else { return nil }
        }
        version += 1
        return changes(since: before)
    }

    /// Adds a new member.
    ///
    /// - Returns: the changes of the order to report, possibly none; `nil` when it was known already, or when there is
    ///   no more room.
    package mutating func join(_ member: Member) -> [EventSubject]? {
        let before = summary
        guard !members.contains(where: { $0.key == member.key }), add(member) else { return nil }
        version += 1
        return changes(since: before)
    }

    /// The result of requesting the right to charge.
    package enum Answer: Hashable, Sendable {
        /// Granted; the number is part of the idempotency key.
        case granted(Int)
        /// Another member has the money, or the right to it.
        case refused(WatchKey)
    }

    /// Requests the right to charge, in a poll at `polledAt`, for a member whose last event was number `seq`.
    ///
    /// Its holder gets the same right again, so an interrupted attempt can be repeated.
    package mutating func take(
        _ member: WatchKey,
        seq: Int,
        at polledAt: Timestamp? = nil
    ) -> Answer {
        let paid = members.first { other in
            OrderPayment.forbidsCharging(
                member,
                [OrderPayment.Member(key: other.key, payment: other.payment)]
            )
        }
        if let paid { return .refused(paid.key) }
        if let held = right, !isFree(held) {
            guard held.holder == member else { return .refused(held.holder) }
            if held.isFresh {
                right?.isFresh = false
                version += 1
            }
            return .granted(held.number)
        }
        grants = grants.addingSaturating(1)
        let known = members.first { $0.key == member }
        // A known failure was before the grant, even if the clock was set back since.
        let failedAt = known.flatMap { $0.hasFailed ? $0.polledAt : nil } ?? .earliest
        right = Right(
            holder: member,
            seq: max(seq, known?.seq ?? 0),
            number: grants,
            polledAt: polledAt.map { max($0, failedAt + .milliseconds(1)) },
            isFresh: true
        )
        version += 1
        return .granted(grants)
    }

    /// Takes the right from a member whose poll got it and has certainly charged nothing.
    ///
    /// - Returns: false, without effect, if another poll has got this right too, because that poll may have charged; or
    ///   if the member has another right, or none.
    package mutating func release(_ member: WatchKey, number: Int) -> Bool {
        guard let held = right, held.isFresh, held.holder == member, held.number == number else {
            return false
        }
        right = nil
        // Another number would be another key: if the store lost this release and later grants, the upstream would not
        // recognise the charge of a later holder.
        grants = max(number, 1) - 1
        version += 1
        return true
    }

    /// Counts events that are recorded with a change; the first change sets the time at which it became known.
    mutating func count(_ events: Int, at instant: Timestamp) {
        seq += events
        createdAt = createdAt ?? instant
    }

    /// Whether the holder's payment has ended without money since the grant.
    private func isFree(_ right: Right) -> Bool {
        members.contains { member in
            guard member.key == right.holder, member.hasFailed else { return false }
            guard let seen = member.polledAt, let granted = right.polledAt else {
                return member.seq > right.seq
            }
            return seen >= granted
        }
    }

    /// Adds a member, in place of the oldest failed one when there is no room.
    private mutating func add(_ member: Member) -> Bool {
        if members.count >= Self.membersMax {
            let old = members.firstIndex { $0.hasFailed && $0.key != right?.holder }
            guard let old else { return false }
            members.remove(at: old)
        }
        members.append(member)
        return true
    }

    /// Returns the changes since an earlier state.
    ///
    /// `awaiting_customer` is not reported as the first state, because the shop has just started the payment.
    private func changes(since before: OrderPayment) -> [EventSubject] {
        let after = summary
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
