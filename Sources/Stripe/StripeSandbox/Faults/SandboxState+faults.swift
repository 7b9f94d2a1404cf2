extension SandboxState {
    /// Faults in force at a time; each request looks through all of them.
    static let faultsMax = 1000

    /// The fault that strikes a request, if any; it counts as used.
    mutating func strike(path: String, method: String) -> FaultStrike? {
        guard let index = faults.firstIndex(where: { $0.applies(to: path, method: method) }) else {
            return nil
        }
        if let left = faults[index].timesLeft { faults[index].timesLeft = left - 1 }
        let (release, continuation) = AsyncStream.makeStream(of: Void.self)
        let plan = faults[index].plan
        if plan.mode == .hang {
            faults[index].held.append(continuation)
        } else {
            continuation.finish()
            // A spent fault holds nobody and can go.
            if faults[index].timesLeft == 0 { faults.remove(at: index) }
        }
        return FaultStrike(plan: plan, release: release)
    }

    /// Puts a fault in force.
    mutating func addFault(_ plan: FaultRequest) -> String {
        let id = ids.make("fault_", length: 8)
        faults.append(Fault(id: id, plan: plan, timesLeft: plan.times))
        return id
    }

    /// Deletes one fault, or all, and lets go of what they hold.
    ///
    /// - Returns: How many there were.
    mutating func removeFaults(_ id: String?) -> Int {
        let removed = faults.filter { id == nil || $0.id == id }
        faults.removeAll { id == nil || $0.id == id }
        for continuation in removed.flatMap(\.held) { continuation.finish() }
        return removed.count
    }
}
