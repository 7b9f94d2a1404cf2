import PollerDeliveries
import PollerIdentity
import PollerTesting
import PollerWatches

extension QueueConformance {
    static let references: [ConformanceCase] = [
        Case("references have the position, watch and lane of events") { bench in
            let keys = ["1", "2"].map { bench.key($0) } + [bench.key("3", kind: .other("invoice"))]
            for key in keys {
                try await bench.enqueue(key)
                _ = try await bench.watches.cancel(key)
            }
            for home in Set(keys.map { bench.partition(of: $0) }) {
                let entries = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
                let found = try await bench.outbox.references(
                    partition: home,
                    after: "0",
                    limit: 9
                )
                try equal(found.map(\.id), entries.map(\.id), "ids")
                try equal(found.map(\.item), entries.map(\.event.key.id), "items")
                try bench.expect(found.allSatisfy { $0.partition == home }, "wrong partition")
                for (reference, entry) in zip(found, entries) {
                    guard let lane = reference.lane else { continue }
                    try equal(lane, entry.event.key.lane, "lane")
                }
            }
        },
        Case("reading references continues after a position, without gap or repeat") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, (0..<7).map { "s\($0)" })
            var position = "0"
            var pages: [[String]] = []
            for _ in 0..<4 {
                let page = try await bench.outbox.references(
                    partition: home,
                    after: position,
                    limit: 3
                )
                pages.append(page.map(\.id))
                position = page.last?.id ?? position
            }
            let all = try await bench.outbox.entries(partition: home, after: "0", limit: 9)
            try equal(pages.map(\.count), [3, 3, 1, 0], "pages")
            try equal(pages.flatMap(\.self), all.map(\.id), "ids")
        },
        Case("events are returned in the order of the references") { bench in
            let keys = [bench.key("1"), bench.key("2", account: "acct_other")]
            for key in keys { try await bench.record(key, ["a", "b", "c"]) }
            var references: [OutboxReference] = []
            var wanted: [Event?] = []
            for key in keys {
                let home = bench.partition(of: key)
                for entry in try await bench.outbox.entries(partition: home, after: "0", limit: 9)
                where entry.event.key == key && entry.event.seq != 2 {
                    wanted.insert(entry.event, at: 0)
                }
                for reference in try await bench.outbox.references(
                    partition: home,
                    after: "0",
                    limit: 9
                ) where reference.item == key.id {
                    references.insert(reference, at: 0)
                }
            }
            // Every second reference is left out, because not every entry has a subscriber.
            for at in [4, 1] { references.remove(at: at) }
            let events = try await bench.outbox.events(of: references)
            try equal(events.map(\.?.seq), [3, 1, 3, 1], "seq")
            try equal(events, wanted, "events")
            try equal(try await bench.outbox.events(of: []), [], "events of no references")
        },
    ]
}
