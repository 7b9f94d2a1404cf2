import PollerIdentity
import PollerQueue

/// The waiting items of one lane and one urgency, the earliest first.
struct MemorySchedule: Sendable {
    /// An item's position in a schedule.
    struct Position: Hashable, Comparable, Sendable {
        let due: Timestamp
        let id: ItemID

        static func < (lhs: Position, rhs: Position) -> Bool {
            (lhs.due, lhs.id.description) < (rhs.due, rhs.id.description)
        }
    }

    /// The positions, in order.
    private(set) var positions: [Position] = []

    var head: Position? { positions.first }
    var count: Int { positions.count }
    var isEmpty: Bool { positions.isEmpty }

    /// Adds an item.
    mutating func insert(_ position: Position) {
        positions.insert(position, at: count(before: position))
    }

    /// Removes an item.
    mutating func remove(_ position: Position) {
        let index = count(before: position)
        guard index < positions.count, positions[index] == position else { return }
        positions.remove(at: index)
    }

    /// Removes the earliest item.
    mutating func removeHead() {
        positions.removeFirst()
    }

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        positions = positions.map { Position(due: $0.due + span, id: $0.id) }
    }

    /// Returns how many items come before a position.
    func count(before position: Position) -> Int {
        firstIndex { $0 >= position }
    }

    /// Returns how many items are due at a time.
    func count(dueAt instant: Timestamp) -> Int {
        firstIndex { $0.due > instant }
    }

    /// Returns the first index at which a condition holds that then holds to the end.
    private func firstIndex(where holds: (Position) -> Bool) -> Int {
        var low = 0
        var high = positions.count
        while low < high {
            let middle = (low + high) / 2
            if holds(positions[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// One item of an in-memory queue: the queue's own data, and the owner's record.
struct MemoryItem<Record: Sendable>: Sendable {
    /// The phase of the item; always exactly one of these.
    enum Phase: Hashable, Sendable {
        case waiting(due: Timestamp, isUrgent: Bool)
        case leased(MemoryLease)
        case closed(ClosedReason, at: Timestamp)
    }

    /// A lease as the store keeps it.
    struct MemoryLease: Hashable, Sendable {
        let owner: OwnerID
        let due: Timestamp
        /// Whether it was claimed from the urgent schedule.
        let isUrgent: Bool
        let endsAt: Timestamp
        /// Whether a hint, a mark or a join came during the lease.
        var hinted = false
        /// Whether a request has added something during the lease that its poll does not know.
        var isOutdated = false
    }

    let lane: LaneID
    /// The fencing token; it grows with each claim, each recovery and each cancellation, and is never reset.
    var token = 0
    /// The number of leases in a row that expired without a commit or release.
    var crashes = 0
    var phase: Phase
    var record: Record

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        switch phase {
        case .waiting(let due, let isUrgent):
            phase = .waiting(due: due + span, isUrgent: isUrgent)
        case .leased(let lease):
            phase = .leased(
                MemoryLease(
                    owner: lease.owner,
                    due: lease.due + span,
                    isUrgent: lease.isUrgent,
                    endsAt: lease.endsAt + span,
                    hinted: lease.hinted,
                    isOutdated: lease.isOutdated
                )
            )
        case .closed: break
        }
    }

    /// Returns the state of a lease of this item.
    func leaseState(of ref: LeaseRef) -> LeaseState {
        guard ref.token == token else { return .lost }
        guard case .leased(let lease) = phase else { return .ended }
        return lease.owner == ref.owner ? .held : .lost
    }
}

/// The validity of a worker's reference.
enum LeaseState: Hashable, Sendable {
    case held
    /// The token is current but not leased: an earlier attempt of the same commit has ended the lease.
    case ended
    case lost
}
