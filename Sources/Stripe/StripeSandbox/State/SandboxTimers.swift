/// An automatic change that happens when its time has come.
///
/// Time passes only on entry of a call: ``SandboxState/advance(toMachineMs:)`` applies all timers that are due, in
/// order and each at its own time. So an event is dated with the time of the change and not of the next request. The
/// store wakes up for the earliest timer; otherwise webhooks would wait for the next request.
///
/// Timers are never removed: a timer whose object has changed in the meantime does nothing.
enum SandboxTimer: Sendable, Codable {
    /// A test-mode name settles a pending Source.
    case settleSource(String, status: String)
    /// A Source expires after too long in status `pending` or `chargeable`.
    case expireSource(String)
    /// A test-mode name sends money to a receiver.
    case paySource(String, amount: Int)
    /// A pending payment to a receiver arrives.
    case settleTransaction(String, source: String)
    /// The bank settles an asynchronous charge.
    case settleCharge(String, succeeds: Bool)
    /// An authorisation expires.
    case expireCharge(String)
    /// A refund succeeds.
    case settleRefund(String)
    /// A refund that was sent fails.
    case failRefund(String)
    /// A test number disputes its charge.
    case dispute(String)
    /// The deadline of a dispute passes.
    case endDispute(String)
    /// The bank settles a processing intent.
    case settleIntent(String)
    /// The action of an intent expires.
    case expireIntent(String)
    /// The bank settles a processing SetupIntent.
    case settleSetup(String)
    /// The action of a SetupIntent expires.
    case expireSetup(String)
    /// A webhook is attempted.
    case attempt(Int)
}

/// The timers in sandbox time, earliest first: a binary heap.
///
/// Its size is limited by the waiting objects: each Source, charge, intent and delivery has at most two timers.
struct TimerQueue: Codable {
    /// A timer and its due time.
    private struct Entry: Codable {
        let dueMs: Int64
        /// Keeps timers of the same millisecond in the order they were set.
        let number: UInt64
        let timer: SandboxTimer

        static func < (left: Entry, right: Entry) -> Bool {
            (left.dueMs, left.number) < (right.dueMs, right.number)
        }
    }

    private var heap: [Entry] = []
    private var next: UInt64 = 0

    /// The due time of the earliest timer; `nil` when there is none.
    var firstDueMs: Int64? { heap.first?.dueMs }

    /// The deliveries with a scheduled attempt.
    var attempts: Set<Int> {
        Set(heap.compactMap { if case .attempt(let number) = $0.timer { number } else { nil } })
    }

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

    /// Removes the earliest timer that is due.
    mutating func take(dueBy nowMs: Int64) -> (timer: SandboxTimer, dueMs: Int64)? {
        guard let first = heap.first, first.dueMs <= nowMs else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            // Safe: the heap is not empty.
            heap[0] = last
            siftDown()
        }
        return (first.timer, first.dueMs)
    }

    private mutating func siftDown() {
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

extension SandboxState {
    /// Schedules a timer after a span of sandbox time.
    mutating func schedule(after delayMs: Int64, _ timer: SandboxTimer) {
        timers.set(timer, atMs: nowMs + max(0, delayMs))
    }

    /// Schedules a timer after the automatic delay.
    mutating func scheduleAutomatic(_ timer: SandboxTimer) {
        schedule(after: autoDelayMs, timer)
    }

    /// Advances the state to a machine time and fires all due timers, each at its own time.
    mutating func advance(toMachineMs machineMs: Int64) {
        self.machineMs = machineMs
        fire(until: time.nowMs(machineMs: machineMs))
    }

    mutating func skip(_ spanMs: Int64) {
        time.skip(spanMs)
        fire(until: nowMs + spanMs)
    }

    /// Fires due timers one by one, because a timer may set another one that is also due.
    private mutating func fire(until endMs: Int64) {
        while let (timer, dueMs) = timers.take(dueBy: endMs) {
            // Never backwards: after a clock change a timer may be in the past.
            nowMs = max(nowMs, dueMs)
            fire(timer)
            changes += 1
        }
        nowMs = endMs
    }

    private mutating func fire(_ timer: SandboxTimer) {
        switch timer {
        case .settleSource(let id, let status):
            // It may have been settled in the meantime.
            if sources[id]?.status == "pending" { settleSource(id, to: status) }
        case .expireSource(let id): expireSource(id)
        case .paySource(let id, let amount): pay(id, amount: amount, isPending: false)
        case .settleTransaction(let id, let source): settleTransaction(id, of: source)
        case .settleCharge(let id, let succeeds): settleCharge(id, succeeds: succeeds)
        case .expireCharge(let id): expireCharge(id)
        case .settleRefund(let id): settleRefund(id)
        case .failRefund(let id): failRefund(id, reason: "unknown")
        case .dispute(let charge): disputeAutomatically(charge)
        case .endDispute(let id): endDispute(id)
        case .settleIntent(let id): settleProcessing(\.intents, id)
        case .expireIntent(let id): expire(\.intents, id)
        case .settleSetup(let id): settleProcessing(\.setups, id)
        case .expireSetup(let id): expire(\.setups, id)
        case .attempt(let number): attempt(number)
        }
    }
}
