/// A fault in force.
struct Fault {
    let id: String
    let plan: FaultRequest
    /// Requests it still applies to; nil until deleted.
    var timesLeft: Int?

    /// Wakes the requests it holds; ended when the fault is deleted.
    var held: [AsyncStream<Void>.Continuation] = []

    func applies(to path: String, method: String) -> Bool {
        timesLeft != 0 && path.hasPrefix(plan.match)
            && (plan.method.map { $0.uppercased() == method } ?? true)
    }
}
