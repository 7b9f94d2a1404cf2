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
                let wait = policy.wait(step: step, age: .zero, using: &chance).inSeconds
                #expect(wait >= wanted * 0.9 - 0.001 && wait <= wanted * 1.1, "step \(step)")
            }
            wanted = min(wanted * policy.factor, policy.cap.inSeconds)
        }
    }

    @Test("watches enqueued together drift apart")
    func jitter() {
        var chance = SeededGenerator(seed: 12)
        let waits = (0..<100).map { _ in
            PollPolicy.patient.wait(step: 3, age: .zero, using: &chance)
        }
        #expect(Set(waits).count > 90)
    }

    @Test(
        "what a life costs is what is documented, whatever the policy, and bounded",
        arguments: [
            (PollPolicy.interactive, [55, 331, 475, 567]), (.standard, [19, 295, 439, 531]),
            (.patient, [7, 30, 174, 266]),
        ] as [(PollPolicy, [Int])]
    )
    func cost(policy: PollPolicy, documented: [Int]) {
        var chance = SeededGenerator(seed: 13)
        let lives = [3600, 86_400, 7 * 86_400, 30 * 86_400].map { Duration.seconds($0) }
        for (life, wanted) in zip(lives, documented) {
            var (age, polls) = (Duration.zero, 0)
            while age <= life {
                age += policy.wait(step: polls, age: age, using: &chance)
                polls += 1
            }
            #expect(abs(polls - wanted) <= max(2, wanted / 20), "\(life): \(polls)")
        }
    }

    @Test("beyond its span a watch goes on at the pace of the next slower policy")
    func age() {
        var chance = SeededGenerator(seed: 14)
        let ages = [(599, 15), (601, 300), (86_401, 3600), (7 * 86_400 + 1, 6 * 3600)]
        for (age, cap) in ages {
            let wait = PollPolicy.interactive.wait(
                step: 50,
                age: .seconds(age),
                using: &chance
            )
            #expect(abs(wait.inSeconds - Double(cap)) <= 0.1 * Double(cap), "\(age)")
        }
        // A change makes it fast again, however old it is.
        let fresh = PollPolicy.interactive.wait(step: 0, age: .seconds(86_401), using: &chance)
        #expect(fresh < .seconds(2))
    }

    @Test("a policy is found by its name")
    func named() throws {
        for policy in PollPolicy.all { #expect(try PollPolicy(named: policy.name) == policy) }
        #expect(throws: InvalidInput.self) { try PollPolicy(named: "Standard") }
    }
}
