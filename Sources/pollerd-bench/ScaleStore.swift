import JSONText
import Poller
import PollerIdentity
import PollerQueue
import PollerRedis
import RedisClient

/// A store that is filled to any size fast, by the scripts that fill real ones, and names what is in it.
struct ScaleStore: Sendable {
    /// Every so many watches one has ended.
    static let closedEvery = 10
    private static let batch = 2048

    let store: BenchStore
    let lanes: Int

    /// The watch with a number; those with neighbouring numbers are in neighbouring lanes.
    func key(_ number: Int, prefix: String = "") throws -> WatchKey {
        let digits = prefix + String(number)
        let id = "src_1" + String(repeating: "x", count: max(23 - digits.count, 0)) + digits
        return WatchKey(
            account: try AccountID("acct_scale\(number % lanes)"),
            source: try SourceID(id),
            kind: .source
        )
    }

    /// A watch that waits.
    func open(_ number: Int, of count: Int) throws -> WatchKey {
        let at = number * 7919 % count
        return try key(isClosed(at) ? max(at - 1, 1) : at)
    }

    /// The number of a watch that has ended: of the younger half, since the janitor has been at the older one.
    func closedNumber(_ number: Int, of count: Int) -> Int {
        (count / 2 + number * 7919 % (count - count / 2)) / Self.closedEvery * Self.closedEvery
    }

    /// A watch that has ended.
    func closed(_ number: Int, of count: Int) throws -> WatchKey {
        try key(closedNumber(number, of: count))
    }

    /// The order that a watch that has ended is found by.
    func order(of number: Int) -> String { "A\(number)" }

    private func isClosed(_ number: Int) -> Bool { number % Self.closedEvery == 0 }

    /// Enqueues the watches of a span and looks at each once: most wait for an hour or more then.
    func fill(_ span: Range<Int>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 0..<8 {
                group.addTask {
                    let starts = stride(
                        from: span.lowerBound + first * Self.batch,
                        to: span.upperBound,
                        by: 8 * Self.batch
                    )
                    for start in starts {
                        let numbers = start..<min(start + Self.batch, span.upperBound)
                        _ = try await store.watches.enqueue(try numbers.map(watch))
                    }
                }
            }
            try await group.waitForAll()
        }
        try await settle()
    }

    private func watch(_ number: Int) throws -> NewWatch {
        let metadata = isClosed(number) ? "{\"order\":\"\(order(of: number))\"}" : ""
        return try NewWatch(key: key(number), timeout: .seconds(30 * 86_400), metadata: metadata)
    }

    /// Looks at everything that is due.
    func settle() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for partition in 0..<store.watches.partitions {
                group.addTask {
                    while true {
                        let claim = try await store.watches.claim(request(partition, 512))
                        if claim.leases.isEmpty { return }
                        _ = try await store.watches.commit(claim.leases.map { look($0, claim.now) })
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// A claim of a partition.
    func request(_ partition: Int, _ limit: Int) -> ClaimRequest {
        ClaimRequest(
            partition: partition,
            limit: limit,
            owner: store.owner,
            lease: .seconds(600),
            lane: .unlimited
        )
    }

    /// A look that changes nothing and leaves a watch for later, or closes it with an event.
    private func look(_ lease: Lease<Watch>, _ now: Timestamp) -> Commit<WatchChange> {
        let source = lease.item.key.source.description
        guard source.hasSuffix("0"), !source.contains("probe") else {
            return later(lease, .milliseconds(Int64.random(in: 3_600_000...36_000_000)))
        }
        let status = SourceStatus(unchecked: "consumed")
        let object =
            "{\"id\":\"\(source)\",\"object\":\"source\",\"amount\":1099,\"currency\":\"eur\","
            + "\"livemode\":true,\"status\":\"consumed\",\"type\":\"ideal\"}"
        let event = Event(
            watch: lease.item,
            status: status,
            final: true,
            closed: .settled,
            object: RawJSON(object),
            polledAt: now,
            lag: .zero
        )
        var state = lease.item.state
        state.attempts += 1
        state.status = status
        return Commit(
            ref: lease.ref,
            verdict: .close(.settled),
            change: WatchChange(state: state, event: event)
        )
    }

    /// A look that changes nothing.
    func later(_ lease: Lease<Watch>, _ wait: Duration) -> Commit<WatchChange> {
        var state = lease.item.state
        state.attempts += 1
        return Commit(
            ref: lease.ref,
            verdict: .next(after: wait),
            change: WatchChange(state: state, event: nil)
        )
    }
}
