import JSONText
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerRedis
import PollerWatches
import RedisClient

/// A store that is filled quickly to any size, by the production scripts, with functions that name its content.
struct ScaleStore: Sendable {
    /// One in this many watches has ended.
    static let closedEvery = 10
    private static let batch = 2048

    let store: BenchStore
    let lanes: Int

    /// Returns the watch with a number.
    ///
    /// Neighbouring numbers are in neighbouring lanes.
    func key(_ number: Int, prefix: String = "") throws -> WatchKey {
        let digits = prefix + String(number)
        let id = "src_1" + String(repeating: "x", count: max(23 - digits.count, 0)) + digits
        return WatchKey(
            account: try AccountID("acct_scale\(number % lanes)"),
            source: try SourceID(id),
            kind: .source
        )
    }

    /// Returns a watch that waits.
    func open(_ number: Int, of count: Int) throws -> WatchKey {
        let at = number * 7919 % count
        return try key(isClosed(at) ? max(at - 1, 1) : at)
    }

    /// Returns the number of an ended watch in the newer half.
    ///
    /// The purge at an earlier size has removed watches of the older half.
    func closedNumber(_ number: Int, of count: Int) -> Int {
        (count / 2 + number * 7919 % (count - count / 2)) / Self.closedEvery * Self.closedEvery
    }

    /// Returns an ended watch.
    func closed(_ number: Int, of count: Int) throws -> WatchKey {
        try key(closedNumber(number, of: count))
    }

    /// Returns the order by which an ended watch can be found.
    func order(of number: Int) -> String { "A\(number)" }

    private func isClosed(_ number: Int) -> Bool { number % Self.closedEvery == 0 }

    /// Enqueues a range of watches and polls those that are due, until most wait for an hour or more.
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

    /// Processes all due watches.
    func settle() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for partition in 0..<store.watches.partitions {
                group.addTask {
                    while true {
                        let claim = try await store.watches.claim(request(partition, 512))
                        if claim.leases.isEmpty { return }
                        _ = try await store.watches.commit(
                            claim.leases.map { pollCommit($0, claim.now) }
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    func request(_ partition: Int, _ limit: Int) -> ClaimRequest {
        ClaimRequest(
            partition: partition,
            limit: limit,
            owner: store.owner,
            lease: .seconds(600),
            lane: .unlimited
        )
    }

    /// Commits a poll without a change that is due later, or one with an event: the second of a watch closes it.
    private func pollCommit(_ lease: Lease<Watch>, _ now: Timestamp) -> Commit<WatchChange> {
        let source = lease.item.key.source.description
        guard source.hasSuffix("0"), !source.contains("probe") else {
            return later(lease, .milliseconds(Int64.random(in: 3_600_000...36_000_000)))
        }
        let isLast = lease.item.state.status != nil
        let status = isLast ? "consumed" : "chargeable"
        let object =
            "{\"id\":\"\(source)\",\"object\":\"source\",\"amount\":1099,\"currency\":\"eur\","
            + "\"livemode\":true,\"status\":\"\(status)\",\"type\":\"ideal\"}"
        var state = lease.item.state
        state.attempts += 1
        state.status = SourceStatus(unchecked: status)
        let event = Event(
            watch: lease.item,
            status: state.status,
            final: isLast,
            closed: isLast ? .settled : nil,
            object: RawJSON(object),
            polledAt: now,
            lag: .zero
        )
        return Commit(
            ref: lease.ref,
            verdict: isLast ? .close(.settled) : .next(after: .zero),
            change: WatchChange(state: state, event: event)
        )
    }

    /// Commits a poll without a change.
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
