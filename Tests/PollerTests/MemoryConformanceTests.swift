import PollerTesting
import Testing

@Suite("the in-memory stores are what the seams say")
struct MemoryConformanceTests {
    @Test("behaves as every store must", arguments: QueueConformance.allCases)
    func conforms(_ behaviour: ConformanceCase) async throws {
        let harness = MemoryHarness()
        try await behaviour.run(harness)
        #expect(try await harness.audit() == [])
    }

    @Test("the suite finds a store that is wrong", arguments: QueueFlaw.allCases)
    func findsFlaw(_ flaw: QueueFlaw) async throws {
        // A wake that never comes is waited for in real time: too long for a mistake by design.
        for behaviour in QueueConformance.allCases where !behaviour.name.contains("a wake comes") {
            do {
                try await behaviour.run(MemoryHarness(flaws: [flaw]))
            } catch {
                return
            }
        }
        Issue.record("no case noticed \(flaw)")
    }

    @Test("no two cases have the same name")
    func namesDiffer() {
        let names = QueueConformance.allCases.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 180)
    }
}
