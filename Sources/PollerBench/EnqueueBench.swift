import Poller

/// How fast watches are accepted, and what a waiting one weighs.
struct EnqueueBench: Sendable {
    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        let lanes = max(plan.watches / 100, 1)
        let many = try await fill(lanes: lanes)
        let one = try await fill(lanes: 1)
        report.add("enqueue, engine alone", "enqueue_per_s", many.perSecond, "/s")
        report.add("  into one lane", "enqueue_one_lane_per_s", one.perSecond, "/s")
        report.add("memory of a watch, lanes of 100", "bytes_per_watch", many.bytes, "bytes")
        let title = "  in one lane of \(plan.watches)"
        report.add(title, "bytes_per_watch_one_lane", one.bytes, "bytes")
    }

    private func fill(lanes: Int) async throws -> (perSecond: Double, bytes: Double) {
        let keys = try store.keys(plan.watches, lanes: lanes)
        let before = try await store.usedMemory()
        let began = store.clock.now
        try await store.fill(keys)
        let took = began.duration(to: store.clock.now) / .seconds(1)
        let bytes = (try await store.usedMemory() - before) / Double(keys.count)
        try await store.clear()
        return (Double(keys.count) / took, bytes)
    }
}
