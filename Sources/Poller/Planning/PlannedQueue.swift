/// Items by the time they are due, earliest first; a binary heap.
struct PlannedQueue {
    /// An item, and which of its turns this is: an older turn of the same item is void.
    struct Turn: Hashable {
        let due: Int64
        let item: Int
        let number: Int32
    }

    private var turns: [Turn] = []

    var first: Turn? { turns.first }

    mutating func push(_ turn: Turn) {
        turns.append(turn)
        var index = turns.count - 1
        while index > 0, turns[index].due < turns[(index - 1) / 2].due {
            turns.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func pop() -> Turn? {
        guard let first = turns.first, let last = turns.popLast() else { return nil }
        guard !turns.isEmpty else { return first }
        turns[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < turns.count && turns[child].due < turns[least].due {
                least = child
            }
            guard least != index else { return first }
            turns.swapAt(index, least)
            index = least
        }
    }
}
