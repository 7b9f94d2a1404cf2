import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerQueue

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

    static func endpoint(_ number: Int, using chance: inout SeededGenerator) throws -> Endpoint {
        let types = patterns.filter { _ in Int.random(in: 0..<4, using: &chance) == 0 }
        let sources = sources.filter { _ in Int.random(in: 0..<4, using: &chance) == 0 }
        let around = VirtualTime.start
        var endpoint = try EndpointTests.endpoint(
            "e\(number)",
            account: "acct_\(number % 2)",
            scope: EndpointScope(
                types: types + types.prefix(1),
                sources: sources,
                finalOnly: .random(using: &chance)
            ),
            createdAt: around + .seconds(.random(in: -5...1, using: &chance))
        )
        if Int.random(in: 0..<4, using: &chance) == 0 {
            let since = around + .seconds(-86_400 + .random(in: -1...1, using: &chance))
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
        var chance = SeededGenerator(seed: seed)
        var known: [EndpointID: Endpoint] = [:]
        var index = EndpointIndex(partition: Self.partition)
        var found = 0
        for step in 0..<600 {
            let endpoint = try Self.endpoint(.random(in: 0..<80, using: &chance), using: &chance)
            if let old = known.removeValue(forKey: endpoint.id) { index.remove(old) }
            if Int.random(in: 0..<4, using: &chance) > 0 {
                known[endpoint.id] = endpoint
                index.insert(endpoint)
            }
            guard step % 20 == 19 else { continue }
            let anew = EndpointIndex(known.values, partition: Self.partition)
            for event in Self.events {
                let wanted = known.values
                    .filter { $0.wants(event) && $0.collects(at: event.polledAt) }
                    .map { FanOutPosition(partition: Self.partition($0.lane), endpoint: $0.id) }
                    .sorted()
                found += wanted.count
                let told = index.audience(of: event)
                #expect(told.next(.max, after: nil) == wanted, "seed \(seed)")
                #expect(anew.audience(of: event).next(.max, after: nil) == wanted, "seed \(seed)")
                #expect(told.isMore(than: wanted.count - 1), "seed \(seed)")
                #expect(!told.isMore(than: wanted.count), "seed \(seed)")
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
        var told: [FanOutPosition] = []
        while case let next = before.next(7, after: told.last), !next.isEmpty { told += next }
        #expect(told == before.next(.max, after: nil) && told.count == 50)

        let gone = try #require(all.first { $0.id == told[20].endpoint })
        index.remove(gone)
        #expect(index.audience(of: event).next(.max, after: told[20]) == Array(told[21...]))
        // An audience is a snapshot, so it still contains the removed endpoint.
        #expect(before.next(1, after: told[19]) == [told[20]])
        #expect(FanOutPosition(told[20].description) == told[20])
        for text in ["", "7", "ep_a", "x ep_a"] { #expect(FanOutPosition(text) == nil, "\(text)") }
    }
}
