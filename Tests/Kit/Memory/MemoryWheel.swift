import Poller
import PollerIdentity
import PollerQueue

/// The waiting items of one lane and one urgency, the earliest first.
struct MemoryWheel: Sendable {
    /// An item's place in a wheel.
    struct Place: Hashable, Comparable, Sendable {
        let due: Timestamp
        let id: ItemID

        static func < (lhs: Place, rhs: Place) -> Bool {
            (lhs.due, lhs.id.description) < (rhs.due, rhs.id.description)
        }
    }

    /// In order.
    private(set) var places: [Place] = []

    var head: Place? { places.first }
    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }

    /// Puts an item in.
    mutating func insert(_ place: Place) {
        places.insert(place, at: count(before: place))
    }

    /// Takes an item out.
    mutating func remove(_ place: Place) {
        let index = count(before: place)
        guard index < places.count, places[index] == place else { return }
        places.remove(at: index)
    }

    /// Takes the earliest item out.
    mutating func removeHead() {
        places.removeFirst()
    }

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        places = places.map { Place(due: $0.due + span, id: $0.id) }
    }

    /// How many items come before a place.
    func count(before place: Place) -> Int {
        firstIndex { $0 >= place }
    }

    /// How many items are due at an instant.
    func count(dueAt instant: Timestamp) -> Int {
        firstIndex { $0.due > instant }
    }

    /// Where a condition begins to hold that then holds to the end.
    private func firstIndex(where holds: (Place) -> Bool) -> Int {
        var low = 0
        var high = places.count
        while low < high {
            let middle = (low + high) / 2
            if holds(places[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// One item of an in-memory queue: what the queue knows, and the record it keeps for its owner.
struct MemoryItem<Record: Sendable>: Sendable {
    /// Where the item is; always exactly one of these.
    enum Phase: Hashable, Sendable {
        case waiting(due: Timestamp, isUrgent: Bool)
        case leased(MemoryLease)
        case closed(ClosedReason, at: Timestamp)
    }

    /// A lease as the store keeps it.
    struct MemoryLease: Hashable, Sendable {
        let owner: OwnerID
        let due: Timestamp
        /// The wheel it was taken from.
        let isUrgent: Bool
        let endsAt: Timestamp
        /// A hint, a mark or a join came during the lease.
        var hinted = false
    }

    let lane: LaneID
    /// Grows with each claim, each recovery and each cancellation; never reset.
    var token = 0
    /// Leases in a row that ended without a word from their holder.
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
                    hinted: lease.hinted
                )
            )
        case .closed: break
        }
    }

    /// How a lease of this item stands.
    func standing(of ref: LeaseRef) -> LeaseStanding {
        guard ref.token == token else { return .lost }
        guard case .leased(let lease) = phase else { return .ended }
        return lease.owner == ref.owner ? .held : .lost
    }
}

/// What a holder's reference is worth.
enum LeaseStanding: Hashable, Sendable {
    case held
    /// The same token and nobody's: an earlier try of the same commit has ended it.
    case ended
    case lost
}
