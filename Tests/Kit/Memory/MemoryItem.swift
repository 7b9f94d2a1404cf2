import Poller

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
