import Poller
import PollerTesting
import Testing

@Suite("PollPolicy")
struct PollPolicyTests {
    @Test("waits grow geometrically to the cap, within ±10 %", arguments: PollPolicy.all)
    func schedule(_ policy: PollPolicy) {
        var chance = SeededGenerator(seed: 11)
        var wanted = policy.first.inSeconds
        for step in 0..<100 {
            for _ in 0..<20 {
                let wait = policy.wait(step: step, using: &chance).inSeconds
                #expect(wait >= wanted * 0.9 - 0.001 && wait <= wanted * 1.1, "step \(step)")
            }
            wanted = min(wanted * policy.factor, policy.cap.inSeconds)
        }
    }

    @Test("watches enqueued together drift apart")
    func jitter() {
        var chance = SeededGenerator(seed: 12)
        let waits = (0..<100).map { _ in PollPolicy.patient.wait(step: 3, using: &chance) }
        #expect(Set(waits).count > 90)
    }

    @Test("an hour of standard costs 19 polls or fewer")
    func cost() {
        var chance = SeededGenerator(seed: 13)
        var elapsed = 0.0
        var polls = 1
        var step = 0
        while elapsed < 3600 {
            elapsed += PollPolicy.standard.wait(step: step, using: &chance).inSeconds
            step += 1
            polls += 1
        }
        #expect((18...20).contains(polls))
    }

    @Test("a policy is found by its name")
    func named() throws {
        for policy in PollPolicy.all { #expect(try PollPolicy(named: policy.name) == policy) }
        #expect(throws: InvalidInput.self) { try PollPolicy(named: "Standard") }
    }
}
