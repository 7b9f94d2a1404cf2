extension SandboxState {
    /// Sets a timer a span of sandbox time from now.
    mutating func later(_ delayMs: Int64, _ timer: SandboxTimer) {
        timers.set(timer, atMs: nowMs + max(0, delayMs))
    }

    /// Sets a timer after the automatic delay.
    mutating func soon(_ timer: SandboxTimer) {
        later(autoDelayMs, timer)
    }

    /// Brings the state to a time of the machine's: everything due until then happens, each at its own time.
    mutating func arrive(atMachineMs machineMs: Int64) {
        self.machineMs = machineMs
        fire(until: time.nowMs(machineMs: machineMs))
    }

    /// Moves sandbox time forward at once.
    mutating func skip(_ spanMs: Int64) {
        time.skip(spanMs)
        fire(until: nowMs + spanMs)
    }

    private mutating func fire(until endMs: Int64) {
        while let (timer, dueMs) = timers.take(dueBy: endMs) {
            // Never backwards: a timer may have been set in the past of a clock that was changed.
            nowMs = max(nowMs, dueMs)
            fire(timer)
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
        case .settleIntent(let id): settleProcessingIntent(id)
        case .expireIntent(let id): expireIntent(id)
        case .settleSetup(let id): settleProcessingSetup(id)
        case .expireSetup(let id): expireSetup(id)
        case .attempt(let number): attempt(number)
        }
    }
}
