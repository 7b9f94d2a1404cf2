import PollerTesting
import Testing

@Suite("shortening a failing list of steps")
struct SimulationShrinkerTests {
    @Test("only what the failure needs is left, in order")
    func minimal() async {
        let needed: Set<Int> = [3, 77, 78, 199]
        var plays = 0
        let shortest = await SimulationShrinker.minimal(Array(0..<200)) { steps in
            plays += 1
            return needed.isSubset(of: steps)
        }
        #expect(shortest == [3, 77, 78, 199])
        #expect(plays < 200, "\(plays) plays")
    }

    @Test("a list that fails whatever is left out shrinks to nothing")
    func empty() async {
        let shortest = await SimulationShrinker.minimal(Array(0..<50)) { _ in true }
        #expect(shortest == [])
    }

    @Test("a step that cannot be left out is made smaller")
    func simpler() async {
        let shortest = await SimulationShrinker.minimal(
            [[1, 2, 3], [4], [5, 6]],
            simpler: { step in step.map { part in step.filter { $0 != part } } },
            fails: { steps in steps.joined().contains(2) && steps.joined().contains(6) }
        )
        #expect(shortest == [[2], [6]])
    }

    @Test("a list that fails only now and then comes to an end")
    func flaky() async {
        var chance = SeededGenerator(seed: 7)
        let shortest = await SimulationShrinker.minimal(Array(0..<300)) { _ in
            Int.random(in: 0..<50, using: &chance) == 0
        }
        #expect(shortest.count <= 300)
    }

    @Test("one seed is one list of steps")
    func repeatable() {
        let steps = SimulationStep.steps(seed: 42, count: 300)
        #expect(steps == SimulationStep.steps(seed: 42, count: 300))
        #expect(Array(steps.prefix(100)) == SimulationStep.steps(seed: 42, count: 100))
        #expect(steps != SimulationStep.steps(seed: 43, count: 300))
    }
}
