import PollerTesting
import Testing

@testable import Poller

@Suite("PartitionVisitor")
struct ExchangeTests {
    let queue = SpyQueue()

    var visitor: PartitionVisitor<SpyQueue> {
        let settings = LeaseWorkerSettings(
            owner: Sample.owner,
            concurrency: 8,
            lease: .seconds(12),
            lane: .unlimited,
            drainTimeout: .seconds(5)
        )
        return PartitionVisitor(queue: queue, settings: settings, logger: Sample.quiet)
    }

    func plan(limit: Int = 0) -> Exchange {
        Exchange(partition: 0, results: 0, limit: limit, isInsurance: false)
    }

    func ref(_ number: Int) -> LeaseRef {
        LeaseRef(id: ItemID(of: "\(number)"), partition: 0, token: 1, owner: Sample.owner)
    }

    func commits(_ numbers: Int...) -> [PartitionVisitor<SpyQueue>.Result] {
        numbers.map {
            .commit(Commit(ref: ref($0), verdict: .rest, change: $0), isNews: true)
        }
    }

    @Test("all results go in one operation, and each gets its own answer")
    func batch() async {
        let outcome = await visitor.visit(plan(), commits(2, 3, 4))
        #expect(queue.batches == [[2, 3, 4]])
        #expect(outcome.results == [.done, .leaseLost, .done])
        #expect(outcome.claim == nil)
    }

    @Test("releases and commits of one visit are told apart")
    func releases() async {
        let outcome = await visitor.visit(plan(), commits(3) + [.release(ref(8))])
        #expect(outcome.results == [.leaseLost, .done])
        #expect(queue.releases == [[ref(8)]])
    }

    @Test("a claim that was asked for comes with the results")
    func claims() async {
        let outcome = await visitor.visit(plan(limit: 5), commits(2))
        #expect(outcome.results == [.done])
        #expect(outcome.claim != nil)
    }

    @Test("a store that is away leaves every result open")
    func unavailable() async {
        queue.fail([.unavailable("away")])
        let outcome = await visitor.visit(plan(limit: 5), commits(2, 4))
        #expect(outcome.results == [nil, nil])
        #expect(outcome.isUnavailable)
    }

    @Test("one commit that the store cannot take does not spoil the others")
    func poisoned() async {
        queue.fail([.outOfOrder("BADSEQ"), .outOfOrder("BADSEQ")])
        let outcome = await visitor.visit(plan(), commits(2, 4, 6))
        #expect(queue.batches == [[2, 4, 6], [2], [4], [6]])
        #expect(outcome.results == [.leaseLost, .done, .done])
        #expect(!outcome.isUnavailable)
    }
}
