import Testing

@testable import StripeSandbox

@Suite struct TimerQueueTests {
    @Test("timers come out by time, those of one millisecond in the order they were set")
    func order() {
        var queue = TimerQueue()
        // 7 and 101 have no common factor: every due time once, in a scattered order.
        for number in 0..<101 { queue.set(.attempt(number), atMs: Int64(number * 7 % 101)) }
        for number in 101..<104 { queue.set(.attempt(number), atMs: 50) }
        #expect(queue.firstDueMs == 0)
        var taken: [(Int, Int64)] = []
        while let (timer, dueMs) = queue.take(dueBy: 60) {
            guard case .attempt(let number) = timer else { continue }
            taken.append((number, dueMs))
        }
        #expect(taken.map(\.1) == taken.map(\.1).sorted())
        #expect(taken.count == 61 + 3)
        #expect(taken.filter { $0.1 == 50 }.map(\.0).suffix(3) == [101, 102, 103])
        #expect(queue.firstDueMs == 61)
    }

    @Test("time runs faster by the factor, and what was skipped stays skipped")
    func scaled() {
        var time = SandboxTime(startMs: 1_000_000, scale: 3600)
        #expect(time.nowMs(machineMs: 1_000_000) == 1_000_000)
        #expect(time.nowMs(machineMs: 1_001_000) == 1_000_000 + 3_600_000)
        #expect(time.machineMs(for: 3_600_000) == 1000)
        #expect(time.machineMs(for: 1) == 1, "never a wait of nothing, which would spin")
        time.skip(500)
        #expect(time.nowMs(machineMs: 1_000_000) == 1_000_500)
    }
}
