import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerQueue
@testable import PollerWatches

@Suite("EndpointIndex")
struct EndpointIndexTests {
    static let sources = ["src_1", "src_2", "src_3"]
    static let patterns = [
        "source.*", "source.pending", "source.chargeable", "watch.*", "watch.expired", "payment.*",
    ]

    /// Returns the partition of a lane, spread as by a hash of the ID.
    @Sendable static func partition(_ lane: LaneID) -> Int {
        lane.description.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 3
    }

    static func endpoint(_ number: Int, using generator: inout SeededGenerator) throws -> Endpoint {
        let types = patterns.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        let sources = sources.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        let around = VirtualTime.start
        var endpoint = try EndpointTests.endpoint(
            "e\(number)",
            account: "acct_\(number % 2)",
            scope: EndpointScope(
                types: types + types.prefix(1),
                sources: sources,
                finalOnly: .random(using: &generator)
            ),
            createdAt: around + .seconds(.random(in: -5...1, using: &generator))
        )
        if Int.random(in: 0..<4, using: &generator) == 0 {
            let since = around + .seconds(-86_400 + .random(in: -1...1, using: &generator))
            endpoint.state = .disabled(reason: "x", at: since)
        }
        return endpoint
    }

    static var events: [Event] {
        sources.flatMap { source in
            ["acct_0", "acct_1"].flatMap { account in
                [
                    EndpointTests.event(source: source, account: account),
                    EndpointTests.event("chargeable", source: source, account: account),
                    EndpointTests.event("consumed", source: source, account: account, final: true),
                    EndpointTests.event(source: source, account: account, closed: .expired),
                ]
            }
        }
    }

    @Test("after any sequence of changes the index lists each recipient once and in order")
    func finds() throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        var known: [EndpointID: Endpoint] = [:]
        var index = EndpointIndex(partition: Self.partition)
        var found = 0
        for step in 0..<600 {
            let endpoint = try Self.endpoint(
                .random(in: 0..<80, using: &generator),
                using: &generator
            )
            if let old = known.removeValue(forKey: endpoint.id) { index.remove(old) }
            if Int.random(in: 0..<4, using: &generator) > 0 {
                known[endpoint.id] = endpoint
                index.insert(endpoint)
            }
            guard step % 20 == 19 else { continue }
            let rebuilt = EndpointIndex(known.values, partition: Self.partition)
            for event in Self.events {
                let wanted = known.values
                    .filter { $0.subscribes(to: event) }
                    .filter { $0.collectsUntil.map { event.polledAt < $0 } ?? true }
                    .map { FanOutPosition(partition: Self.partition($0.lane), endpoint: $0.id) }
                    .sorted()
                found += wanted.count
                let recipients = index.audience(of: event)
                #expect(recipients.next(.max, after: nil) == wanted, "seed \(seed)")
                #expect(
                    rebuilt.audience(of: event).next(.max, after: nil) == wanted,
                    "seed \(seed)"
                )
                #expect(recipients.isMore(than: wanted.count - 1), "seed \(seed)")
                #expect(!recipients.isMore(than: wanted.count), "seed \(seed)")
            }
        }
        #expect(found > 0)
    }

    @Test("the list continues after a position, even if its endpoint was removed")
    func resumes() throws {
        var index = EndpointIndex(partition: Self.partition)
        var all: [Endpoint] = []
        for number in 0..<50 {
            let scope = try number % 3 == 0 ? EndpointScope(types: ["source.*"]) : .everything
            all.append(try EndpointTests.endpoint("e\(number)", scope: scope))
        }
        for endpoint in all { index.insert(endpoint) }
        let event = EndpointTests.event()
        let before = index.audience(of: event)
        var recipients: [FanOutPosition] = []
        while case let next = before.next(7, after: recipients.last), !next.isEmpty {
            recipients += next
        }
        #expect(recipients == before.next(.max, after: nil) && recipients.count == 50)

        let gone = try #require(all.first { $0.id == recipients[20].endpoint })
        index.remove(gone)
        #expect(
            index.audience(of: event).next(.max, after: recipients[20]) == Array(recipients[21...])
        )
        // An audience is a snapshot, so it still contains the removed endpoint.
        #expect(before.next(1, after: recipients[19]) == [recipients[20]])
        #expect(FanOutPosition(recipients[20].description) == recipients[20])
        for text in ["", "7", "ep_a", "x ep_a"] { #expect(FanOutPosition(text) == nil, "\(text)") }
    }
}
