import PollerTesting
import Testing

@Suite("In-memory stores")
struct MemoryConformanceTests {
    @Test("a conformance case passes", arguments: QueueConformance.queueCases)
    func conforms(_ behaviour: ConformanceCase) async throws {
        let failure = await behaviour.failure(on: MemoryHarness())
        #expect(failure == nil)
    }

    @Test("the conformance cases detect a faulty store", arguments: QueueFlaw.allCases)
    func findsFlaw(_ flaw: QueueFlaw) async throws {
        // A missing wake is waited for in real time, which takes too long for a planted flaw.
        let cases = QueueConformance.queueCases.filter { !$0.name.contains("a wake comes") }
        var noticed: String?
        for behaviour in cases where noticed == nil {
            noticed = await behaviour.failure(on: MemoryHarness(flaws: [flaw]))
        }
        #expect(noticed != nil)
    }

    @Test("the conformance cases detect a faulty registry", arguments: EndpointFlaw.allCases)
    func findsFlaw(_ flaw: EndpointFlaw) async throws {
        var noticed: String?
        for behaviour in QueueConformance.queueCases where noticed == nil {
            noticed = await behaviour.failure(on: MemoryHarness(endpointFlaws: [flaw]))
        }
        #expect(noticed != nil)
    }

    @Test("case names are unique")
    func namesDiffer() {
        let names = QueueConformance.allCases.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count > 180)
    }
}
