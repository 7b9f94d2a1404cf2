import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting

extension QueueConformance {
    /// The progress of marking an event with many recipients, and its owner.
    static let fanOut: [ConformanceCase] = [
        Case("a consumer that lost an entry can neither reclaim it nor move its position") {
            bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            let position = FanOutPosition(partition: 1, endpoint: EndpointID(unchecked: "ep_b"))
            _ = try await bench.hold([entries[0]], ConformanceBench.anna, at: position)
            try await bench.advance(ms: 50)
            var taken: [OutboxEntry] = []
            try await eventually("another consumer takes the entries over") {
                taken += try await bench.unacknowledged(
                    home,
                    ConformanceBench.bert,
                    idle: .milliseconds(40)
                )
                return taken.count >= 2
            }
            let known = try await bench.positions(entries)
            try equal(known, [entries[0].id: position], "the position of the first consumer")
            let further = FanOutPosition(partition: 3, endpoint: EndpointID(unchecked: "ep_a"))
            let lost = try await bench.hold([entries[0]], ConformanceBench.bert, at: further)
            try equal(lost, [], "entries lost by the other consumer")
            let late = try await bench.hold(entries, ConformanceBench.anna, at: position)
            try equal(late, Set(entries.map(\.id)), "entries lost by the first consumer")
            let kept = try await bench.positions(entries)
            try equal(kept, [entries[0].id: further], "the position of the other consumer")
            try equal(
                try await bench.hold(entries, ConformanceBench.bert),
                [],
                "entries reclaimed by the first consumer"
            )
        },
        Case("the fan-out position of an entry is deleted when it is acknowledged") { bench in
            let key = bench.key("1")
            let home = bench.partition(of: key)
            try await bench.record(key, ["a", "b"])
            let entries = try await bench.unacknowledged(home, ConformanceBench.anna)
            let position = FanOutPosition(partition: 0, endpoint: EndpointID(unchecked: "ep_a b"))
            _ = try await bench.hold(entries, ConformanceBench.anna, at: position)
            try await bench.outbox.acknowledge(partition: home, [entries[1].id])
            let known = try await bench.positions(entries)
            try equal(known, [entries[0].id: position], "positions")
            let none = try await bench.outbox.positions(partition: home, of: [])
            try equal(none, [:], "positions of no entries")
        },
    ]
}

extension ConformanceBench {
    /// Holds entries of one partition for a consumer; returns those it has lost.
    func hold(
        _ entries: [OutboxEntry],
        _ consumer: OwnerID,
        at position: FanOutPosition? = nil
    ) async throws -> Set<String> {
        try await outbox.hold(
            partition: entries[0].partition,
            consumer: consumer,
            entries.map { PendingEntry($0.id, at: position) }
        )
    }

    /// Returns the marking progress of entries of one partition.
    fileprivate func positions(_ entries: [OutboxEntry]) async throws -> [String: FanOutPosition] {
        try await outbox.positions(partition: entries[0].partition, of: entries.map(\.id))
    }
}
