import Logging
import NIOCore
import Poller
import RedisClient

/// The lease mechanism over Redis, the same for watches and deliveries.
struct RedisQueue<Record: ItemRecord>: Sendable {
    /// The most items a script gets in one call: 256 enqueues are about 4 ms of Redis.
    static var chunk: Int { 256 }

    let client: RedisClient
    let keys: Keys
    let scripts: Scripts
    let logger: Logger

    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Record.Item> {
        let reply = try await run(
            scripts.claim,
            partition: request.partition,
            [
                .string(request.owner.description), RedisArgument(min(max(request.limit, 1), 1024)),
                RedisArgument(request.lease.ms), RedisArgument(request.lane.intervalUs),
                RedisArgument(request.lane.burst), RedisArgument(request.lane.inFlightMax),
            ]
        )
        guard let parts = reply.array, parts.count >= 2, let now = parts[0].int,
            let ready = parts[1].int
        else { throw .corrupt("claim.lua answered \(reply)") }
        let claimedAt = Timestamp(ms: Int64(now))
        return Claim(
            leases: parts.dropFirst(2).compactMap { lease($0, request, claimedAt) },
            now: claimedAt,
            nextReady: ready < 0 ? nil : Timestamp(ms: Int64(ready))
        )
    }

    func commit(_ commits: [Commit<Record.Change>]) async throws(StoreError) -> [CommitResult] {
        guard let first = commits.first else { return [] }
        var arguments: [RedisArgument] = [.string(first.ref.owner.description)]
        arguments.reserveCapacity(commits.count * 10 + 1)
        for commit in commits {
            precondition(
                commit.ref.partition == first.ref.partition && commit.ref.owner == first.ref.owner,
                "commits of one call belong to one partition and one owner"
            )
            append(commit, to: &arguments)
        }
        return try results(
            await run(scripts.commit, partition: first.ref.partition, arguments),
            count: commits.count
        )
    }

    func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        guard let first = refs.first else { return [] }
        var arguments: [RedisArgument] = [.string(first.owner.description)]
        for ref in refs {
            arguments.append(.string(ref.id.description))
            arguments.append(RedisArgument(ref.token))
        }
        return try results(
            await run(scripts.release, partition: first.partition, arguments),
            count: refs.count
        )
    }

    func purge(partition: Int, retention: Duration) async throws(StoreError) -> Bool {
        let reply = try await run(
            scripts.purge,
            partition: partition,
            [RedisArgument(retention.ms), RedisArgument(Self.chunk)]
        )
        return reply.int == Self.chunk
    }

    func stats() async throws(StoreError) -> StoreStats {
        var total = StoreStats()
        for partition in 0..<keys.partitions {
            let counts = try await run(scripts.stats, partition: partition, [])
                .array?.compactMap(\.int)
            guard let counts, counts.count == 7 else { throw .corrupt("stats.lua") }
            total += StoreStats(
                pending: counts[0],
                overdue: counts[1],
                leased: counts[2],
                closed: counts[3],
                outbox: counts[4],
                undelivered: counts[5],
                lanes: counts[6]
            )
        }
        return total
    }

    /// Partitions named on a channel, nil when messages may have been lost.
    func partitions(on channel: String) -> AsyncStream<Int?> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int?.self,
            // Beyond this the insurance claim of each second is soon enough.
            bufferingPolicy: .bufferingNewest(keys.partitions * 4)
        )
        let subscription = client.subscribe(channels: [channel])
        let task = Task {
            for await event in subscription {
                switch event {
                case .message(_, _, let payload):
                    guard let partition = Int(String(buffer: payload)) else { continue }
                    continuation.yield(partition)
                case .subscribed, .gap:
                    continuation.yield(nil)
                }
            }
            continuation.finish()
        }
        // The stream outlives this call, so its feeder cannot live in a task group: it ends
        // with the stream, whose consumer does live in one.
        continuation.onTermination = { _ in
            task.cancel()
            subscription.cancel()
        }
        return stream
    }

    /// Runs a script in a partition.
    func run(
        _ script: RedisScript,
        partition: Int,
        _ arguments: [RedisArgument]
    ) async throws(StoreError) -> RedisValue {
        do throws(RedisError) {
            return try await client.eval(script, keys: [keys.meta(partition)], arguments: arguments)
        } catch {
            throw StoreError(error)
        }
    }

    private func append(_ commit: Commit<Record.Change>, to arguments: inout [RedisArgument]) {
        let writing = Record.writing(commit.change)
        arguments.append(.string(commit.ref.id.description))
        arguments.append(RedisArgument(commit.ref.token))
        switch commit.verdict {
        case .next(let wait):
            arguments.append("next")
            arguments.append(RedisArgument(max(wait.ms, 0)))
        case .close(let reason):
            arguments.append("close")
            arguments.append(.string(reason.rawValue))
        case .rest:
            arguments.append("rest")
            arguments.append("")
        }
        arguments.append(.string(writing.state))
        arguments.append(.string(writing.error))
        arguments.append(RedisArgument(commit.laneHold?.ms ?? 0))
        if let event = writing.event {
            arguments.append(RedisArgument(event.seq))
            arguments.append(.string(event.json))
            arguments.append(.string(keys.events(of: event.key.source.description)))
        } else {
            arguments.append("0")
            arguments.append("")
            arguments.append("")
        }
    }

    private func lease(
        _ value: RedisValue,
        _ request: ClaimRequest,
        _ now: Timestamp
    ) -> Lease<Record.Item>? {
        guard let parts = value.array, parts.count == 13, let token = parts[1].int,
            let due = parts[2].int,
            let item = Record.item(fields(parts))
        else {
            // It stays leased until the lease ends and comes back: visible, and harmless to others.
            logger.error("record not understood", metadata: ["record": "\(value)"])
            return nil
        }
        return Lease(
            ref: LeaseRef(
                id: ItemID(unchecked: parts[0].string ?? ""),
                partition: request.partition,
                token: token,
                owner: request.owner
            ),
            item: item,
            lane: LaneID(unchecked: parts[3].string ?? ""),
            due: Timestamp(ms: Int64(due)),
            claimedAt: now,
            endsAt: now + request.lease
        )
    }

    /// Reads claim.lua's item: {id, token, due, lane, source, facts, state, seq, run, began,
    /// deadline, hinted, private}.
    private func fields(_ parts: [RedisValue]) -> ItemFields {
        func text(_ index: Int) -> String { parts[index].string ?? "" }
        func time(_ index: Int) -> Timestamp { Timestamp(ms: Int64(parts[index].int ?? 0)) }
        let hinted = time(11)
        return ItemFields(
            id: text(0),
            lane: text(3),
            source: text(4),
            facts: text(5),
            state: text(6),
            seq: parts[7].int ?? 0,
            run: parts[8].int ?? 1,
            began: time(9),
            deadline: time(10),
            hinted: hinted.ms > 0 ? hinted : nil,
            privateValue: text(12)
        )
    }

    private func results(
        _ reply: RedisValue,
        count: Int
    ) throws(StoreError) -> [CommitResult] {
        guard let flags = reply.array, flags.count == count else {
            throw .corrupt("expected \(count) results, got \(reply)")
        }
        return flags.map { $0.int == 1 ? .done : .leaseLost }
    }
}
