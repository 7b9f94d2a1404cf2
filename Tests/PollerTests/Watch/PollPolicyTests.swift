import Poller
import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@Suite("PollPolicy")
struct PollPolicyTests {
    @Test("waits grow geometrically to the cap, with ±10 % jitter", arguments: PollPolicy.all)
    func schedule(_ policy: PollPolicy) {
        var generator = SeededGenerator(seed: 11)
        var wanted = policy.first.inSeconds
        for step in 0..<100 {
            for _ in 0..<20 {
                let wait = policy.wait(step: step, age: .zero, using: &generator).inSeconds
                #expect(wait >= wanted * 0.9 - 0.001 && wait <= wanted * 1.1, "step \(step)")
            }
            wanted = min(wanted * policy.factor, policy.cap.inSeconds)
        }
    }

    @Test("watches enqueued together spread out")
    func jitter() {
        var generator = SeededGenerator(seed: 12)
        let waits = (0..<100).map { _ in
            PollPolicy.patient.wait(step: 3, age: .zero, using: &generator)
        }
        #expect(Set(waits).count > 90)
    }

    @Test(
        "the number of polls of a watch is as documented for each policy",
        arguments: [
            (PollPolicy.interactive, [55, 331, 475, 567]), (.standard, [19, 295, 439, 531]),
            (.patient, [7, 30, 174, 266]), (.auto, [58, 334, 478, 570]),
        ] as [(PollPolicy, [Int])]
    )
    func cost(policy: PollPolicy, documented: [Int]) {
        var generator = SeededGenerator(seed: 13)
        let lives = [3600, 86_400, 7 * 86_400, 30 * 86_400].map { Duration.seconds($0) }
        for (life, wanted) in zip(lives, documented) {
            var (age, polls) = (Duration.zero, 0)
            while age <= life {
                age += policy.wait(step: polls, age: age, using: &generator)
                polls += 1
            }
            #expect(abs(polls - wanted) <= max(2, wanted / 20), "\(life): \(polls)")
        }
    }

    @Test("after its span a watch is polled at the pace of the next slower policy")
    func age() {
        var generator = SeededGenerator(seed: 14)
        let ages = [(599, 15), (601, 300), (86_401, 3600), (7 * 86_400 + 1, 6 * 3600)]
        for (age, cap) in ages {
            let wait = PollPolicy.interactive.wait(
                step: 50,
                age: .seconds(age),
                using: &generator
            )
            #expect(abs(wait.inSeconds - Double(cap)) <= 0.1 * Double(cap), "\(age)")
        }
        // A change makes it fast again at any age.
        let fresh = PollPolicy.interactive.wait(step: 0, age: .seconds(86_401), using: &generator)
        #expect(fresh < .seconds(2))
    }

    /// Returns the waits of an `auto` watch for a span, starting at an age.
    ///
    /// `hinted` is the time since a hint, which restarts the fast polls.
    private func waits(
        for span: Duration,
        from age: Duration,
        step: Int,
        hinted: Duration?
    ) -> [Double] {
        var generator = SeededGenerator(seed: 15)
        var (passed, step, waits) = (Duration.zero, step, [Double]())
        while passed < span {
            let wait = PollPolicy.auto.wait(
                step: step,
                age: age + passed,
                hinted: hinted.map { $0 + passed },
                using: &generator
            )
            waits.append(wait.inSeconds)
            passed += wait
            step += 1
        }
        return waits
    }

    @Test("an `auto` watch is polled like an interactive one at first, and then ever more slowly")
    func auto() throws {
        let waits = waits(for: .seconds(30 * 86_400), from: .zero, step: 0, hinted: nil)
        var passed = 0.0
        var slowest = 0.0
        for wait in waits {
            let most = [(600.0, 15.0), (86_400, 300), (7 * 86_400, 3600)].first { passed < $0.0 }
            #expect(wait <= 1.1 * (most?.1 ?? 6 * 3600), "after \(passed) s")
            // Waits grow, except for jitter.
            #expect(wait >= slowest * 0.8, "after \(passed) s")
            slowest = max(slowest, wait)
            passed += wait
        }
        #expect(slowest > 5 * 3600)
    }

    @Test("a change or a hint makes polls fast for ten minutes, at any age")
    func again() {
        for age in [3600, 3 * 86_400, 20 * 86_400].map({ Duration.seconds($0) }) {
            for (step, hinted) in [(0, nil), (300, Duration.zero)] as [(Int, Duration?)] {
                let waits = waits(for: .seconds(570), from: age, step: step, hinted: hinted)
                #expect(waits.allSatisfy { $0 <= 16.5 }, "\(age) \(step)")
            }
            let calm = waits(for: .seconds(1), from: age, step: 300, hinted: .seconds(601))
            #expect(calm[0] > 200, "\(age)")
            // A hint from the far future counts as old.
            let ahead = waits(for: .seconds(1), from: age, step: 300, hinted: .seconds(-86_400))
            #expect(ahead[0] > 200, "\(age)")
        }
    }

    @Test("a policy is found by its name")
    func named() throws {
        for policy in PollPolicy.named { #expect(try PollPolicy(named: policy.name) == policy) }
        #expect(throws: InvalidInput.self) { try PollPolicy(named: "Standard") }
    }
}
