/// What happens by itself when its time has come.
///
/// Time passes only on entry of a call: ``SandboxState/arrive(atMachineMs:)`` lets everything happen that was due by
/// then, each at its own instant and in order, so an event is dated with when it happened and not with when somebody
/// looked. The store wakes itself for the earliest timer, or webhooks would wait for the next request.
///
/// A timer is never taken back: what it finds changed in the meantime it leaves alone.
enum SandboxTimer: Sendable, Codable {
    /// A test-mode name decides a pending source.
    case settleSource(String, status: String)
    /// A source dies unused: `pending` or `chargeable` for too long.
    case expireSource(String)
    /// A test-mode name sends money to a receiver.
    case paySource(String, amount: Int)
    /// A pending payment to a receiver arrives.
    case settleTransaction(String, source: String)
    /// The bank answers an asynchronous charge.
    case settleCharge(String, succeeds: Bool)
    /// An authorisation was never captured.
    case expireCharge(String)
    /// A refund arrives.
    case settleRefund(String)
    /// A refund that was sent comes back.
    case failRefund(String)
    /// A test number objects to its charge.
    case dispute(String)
    /// Nobody answered a dispute in time.
    case endDispute(String)
    /// The bank answers a processing intent.
    case settleIntent(String)
    /// The customer never did what an intent asked for.
    case expireIntent(String)
    /// The bank answers a processing SetupIntent.
    case settleSetup(String)
    /// The customer never did what a SetupIntent asked for.
    case expireSetup(String)
    /// A webhook is tried (again).
    case attempt(Int)
}

/// What happens later, earliest first, in sandbox time: a binary heap.
///
/// Bounded by the objects that wait: each source, charge, intent and delivery has at most two timers.
struct TimerQueue: Codable {
    /// A timer and its time.
    private struct Entry: Codable {
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

    /// The deliveries that will be tried.
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

    /// Takes the earliest timer that is due by then.
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
    /// Sets a timer a span of sandbox time from now.
    mutating func schedule(after delayMs: Int64, _ timer: SandboxTimer) {
        timers.set(timer, atMs: nowMs + max(0, delayMs))
    }

    /// Sets a timer after the automatic delay.
    mutating func scheduleAutomatic(_ timer: SandboxTimer) {
        schedule(after: autoDelayMs, timer)
    }

    /// Brings the state to a time of the machine's: everything due until then happens, each at its own time.
    mutating func advance(toMachineMs machineMs: Int64) {
        self.machineMs = machineMs
        fire(until: time.nowMs(machineMs: machineMs))
    }

    /// Moves sandbox time forward at once.
    mutating func skip(_ spanMs: Int64) {
        time.skip(spanMs)
        fire(until: nowMs + spanMs)
    }

    /// One after the other, since what a timer does may set another that is due as well.
    private mutating func fire(until endMs: Int64) {
        while let (timer, dueMs) = timers.take(dueBy: endMs) {
            // Never backwards: a timer may have been set in the past of a clock that was changed.
            nowMs = max(nowMs, dueMs)
            fire(timer)
            changes += 1
        }
        nowMs = endMs
    }

    private mutating func fire(_ timer: SandboxTimer) {
        switch timer {
        case .settleSource(let id, let status):
            // Somebody else may have settled it in the meantime.
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
