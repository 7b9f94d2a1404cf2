import Poller

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
