/// What happens later, earliest first, in sandbox time: a binary heap.
///
/// Bounded by the objects that wait: each source, charge, intent and delivery has at most two timers.
struct TimerQueue {
    private struct Entry {
        let dueMs: Int64
        /// Keeps timers of one millisecond in the order they were set.
        let number: UInt64
        let timer: SandboxTimer

        static func < (left: Entry, right: Entry) -> Bool {
            (left.dueMs, left.number) < (right.dueMs, right.number)
        }
    }

    private var heap: [Entry] = []
    private var next: UInt64 = 0

    /// When the earliest timer is due; nil when none is set.
    var firstDueMs: Int64? { heap.first?.dueMs }

    mutating func set(_ timer: SandboxTimer, atMs dueMs: Int64) {
        heap.append(Entry(dueMs: dueMs, number: next, timer: timer))
        next += 1
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the earliest timer that is due by then.
    mutating func take(dueBy nowMs: Int64) -> (timer: SandboxTimer, dueMs: Int64)? {
        guard let first = heap.first, first.dueMs <= nowMs else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.timer, first.dueMs)
    }

    private mutating func sink() {
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && heap[right] < heap[left] ? right : left
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
