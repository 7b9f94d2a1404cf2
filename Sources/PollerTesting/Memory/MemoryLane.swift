import Poller

/// One lane of an in-memory partition: its wheel of waiting items, its rate and its slots.
struct MemoryLane: Sendable {
    /// An item's place in the wheel.
    struct Place: Hashable, Comparable, Sendable {
        let due: Timestamp
        let id: ItemID

        static func < (lhs: Place, rhs: Place) -> Bool {
            (lhs.due, lhs.id.description) < (rhs.due, rhs.id.description)
        }
    }

    /// Waiting items, the earliest first.
    private(set) var wheel: [Place] = []
    /// Items leased now.
    var inFlight = 0
    /// Nothing is claimed before this instant.
    var heldUntil = Timestamp(ms: 0)
    /// When the lane was served last; one that is still overdue then goes behind the others.
    var servedAt = Timestamp(ms: 0)
    /// Orders lanes served in the same millisecond.
    var turn = 0
    private var rate = LaneRate()

    /// When the next item may be claimed; nil when none waits or every slot is taken.
    func ready(_ limit: LaneLimit) -> Timestamp? {
        guard let head = wheel.first, inFlight < limit.inFlightMax else { return nil }
        return max(head.due, heldUntil, rate.allows(limit))
    }

    /// Puts an item into the wheel.
    mutating func insert(_ place: Place) {
        wheel.insert(place, at: position(of: place))
    }

    /// Takes an item out of the wheel.
    mutating func remove(_ place: Place) {
        let index = position(of: place)
        guard index < wheel.count, wheel[index] == place else { return }
        wheel.remove(at: index)
    }

    /// Takes the earliest item if it may be claimed now.
    mutating func takeHead(_ limit: LaneLimit, now: Timestamp) -> Place? {
        guard let ready = ready(limit), ready <= now else { return nil }
        rate.take(limit, now: now)
        inFlight += 1
        return wheel.removeFirst()
    }

    private func position(of place: Place) -> Int {
        var low = 0
        var high = wheel.count
        while low < high {
            let middle = (low + high) / 2
            if wheel[middle] < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
