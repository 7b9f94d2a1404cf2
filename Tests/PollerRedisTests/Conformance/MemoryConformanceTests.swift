import Poller
import PollerTesting
import Testing

@Suite("the in-memory stores pass the conformance cases")
struct MemoryConformanceTests {
    @Test("behaves as every store must", arguments: QueueConformance.queueCases)
    func conforms(_ behaviour: ConformanceCase) async throws {
        let failure = await behaviour.failure(on: MemoryHarness())
        #expect(failure == nil)
    }

    @Test("the suite finds a store that is wrong", arguments: QueueFlaw.allCases)
    func findsFlaw(_ flaw: QueueFlaw) async throws {
        // A missing wake is waited for in real time, which takes too long for a planted flaw.
        let cases = QueueConformance.queueCases.filter { !$0.name.contains("a wake comes") }
        var noticed: String?
        for behaviour in cases where noticed == nil {
            noticed = await behaviour.failure(on: MemoryHarness(flaws: [flaw]))
        }
        #expect(noticed != nil)
    }

    @Test("the suite finds a registry that is wrong", arguments: EndpointFlaw.allCases)
    func findsFlaw(_ flaw: EndpointFlaw) async throws {
        var noticed: String?
        for behaviour in QueueConformance.queueCases where noticed == nil {
            noticed = await behaviour.failure(on: MemoryHarness(endpointFlaws: [flaw]))
        }
        #expect(noticed != nil)
    }

    @Test("no two cases have the same name")
    func namesDiffer() {
        let names = QueueConformance.allCases.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 180)
    }
}
