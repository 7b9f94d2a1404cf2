import Poller
import Testing

@testable import PollerRedis
@testable import PollerTesting

/// Pages of an outbox whose oldest events have left their item's log.
@Suite struct OutboxPagesTests {
    @Test("what has left its log is passed, and a page is short only at the end")
    func passed() async throws {
        try await withRedis { client in
            let harness = try await RedisHarness(client: client)
            let behaviour = ConformanceCase("pages") { bench in
                let busy = bench.key("1")
                // The log keeps a hundred, and the outbox names all.
                try await bench.record(busy, (0..<130).map { "s\($0)" })
                let home = bench.partition(of: busy)
                var position = "0"
                var seqs: [Int] = []
                while true {
                    let page = try await bench.watches.entries(
                        partition: home,
                        after: position,
                        limit: 7
                    )
                    seqs += page.map(\.event.seq)
                    position = page.last?.id ?? position
                    if page.count < 7 { break }
                }
                try bench.equal(seqs, Array(31...130), "events that are kept")
                let references = try await bench.watches.references(
                    partition: home,
                    after: "0",
                    limit: 500
                )
                let events = try await bench.watches.events(of: references)
                try bench.equal(events.count { $0 == nil }, 30, "events that are gone")
            }
            let failure = await behaviour.failure(on: harness)
            #expect(failure == nil, "\(String(describing: failure))")
        }
    }
}
