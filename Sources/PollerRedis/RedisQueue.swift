import Logging
import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches
import RedisClient

/// The lease mechanism over Redis, the same for watches and deliveries.
///
/// Each operation is one script (claim.lua, commit.lua, release.lua), so it is atomic, and a repeat after a lost reply
/// changes nothing.
///
/// This is a protocol rather than a generic struct inside the stores. The stores have its operations directly, so
/// nothing is forwarded, and the compiler specializes them for each store's record type.
protocol RedisQueue: LeaseQueue {
    associatedtype Record: ItemRecord where Record.Item == Item, Record.Change == Change

    var redis: RedisPartitions { get }
    /// How long its lanes are held while their attempts fail.
    var circuit: CircuitHold { get }
}

extension RedisQueue {
    package var partitions: Int { redis.keys.partitions }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Item> {
        let reply = try await redis.run(
            redis.scripts[.claim],
            partition: request.partition,
            arguments(of: request)
        )
        return try claim(request, reply)
    }

    package func commit(_ commits: [Commit<Change>]) async throws(StoreError) -> [CommitResult] {
        guard let first = commits.first else { return [] }
        let nothing: [RedisArgument] = [
            .string(first.ref.owner.description), "0", "0", "0", "0", "0", "0",
        ]
        var results: [CommitResult] = []
        for start in stride(from: 0, to: commits.count, by: RedisPartitions.chunk) {
            let part = Array(commits[start..<min(start + RedisPartitions.chunk, commits.count)])
            results += try await commit(part, partition: first.ref.partition, nothing).0
        }
        return results
    }

    /// Commits in parts; the claim is sent with the last part.
    package func commit(
        _ commits: [Commit<Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>) {
        let early = max(0, commits.count - RedisPartitions.chunk)
        let before = try await commit(Array(commits.prefix(early)))
        let (last, reply) = try await commit(
            Array(commits.dropFirst(early)),
            partition: request.partition,
            arguments(of: request)
        )
        return (before + last, try claim(request, reply))
    }

    private func commit(
        _ commits: [Commit<Change>],
        partition: Int,
        _ claim: [RedisArgument]
    ) async throws(StoreError) -> ([CommitResult], RedisValue) {
        var arguments = claim
        arguments.reserveCapacity(claim.count + commits.count * 6)
        for commit in commits {
            precondition(
                commit.ref.partition == partition && commit.ref.owner == commits[0].ref.owner,
                "commits of one call belong to one partition and one owner"
            )
            append(commit, to: &arguments)
        }
        let reply = try await redis.run(redis.scripts[.commit], partition: partition, arguments)
        guard let parts = reply.array, parts.count == 2 else {
            throw .corrupt("commit.lua answered \(reply)")
        }
        return (try results(parts[0], count: commits.count), parts[1])
    }

    private func arguments(of request: ClaimRequest) -> [RedisArgument] {
        [
            .string(request.owner.description), RedisArgument(min(max(request.limit, 1), 1024)),
            RedisArgument(request.lease.ms), RedisArgument(request.lane.intervalUs),
            RedisArgument(request.lane.burst), RedisArgument(request.lane.inFlightMax),
            RedisArgument(request.ahead.ms),
        ]
    }

    private func claim(
        _ request: ClaimRequest,
        _ reply: RedisValue
    ) throws(StoreError) -> Claim<Item> {
        guard let parts = reply.array, parts.count >= 4, let claimedAt = parts[0].time,
            let recovered = parts[2].int, let full = parts[3].array
        else { throw .corrupt("claim.lua's answer is not understood") }
        // A time out of range comes from a damaged lane. The claim itself is valid, and the partition is claimed from
        // again later.
        let damaged = claimedAt + .seconds(60)
        let ready =
            parts[1].int.map { $0 < 0 ? nil : Timestamp(ms: Int64(clamping: $0)) } ?? damaged
        return Claim(
            leases: parts.dropFirst(4).compactMap { lease($0, request, claimedAt) },
            now: claimedAt,
            nextReady: ready,
            recovered: recovered,
            fullLanes: Set(full.compactMap { $0.string.map(LaneID.init(unchecked:)) })
        )
    }

    package func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        guard let first = refs.first else { return [] }
        if refs.count > RedisPartitions.chunk {
            let rest = try await release(Array(refs.dropFirst(RedisPartitions.chunk)))
            return try await release(Array(refs.prefix(RedisPartitions.chunk))) + rest
        }
        var arguments: [RedisArgument] = [.string(first.owner.description)]
        for ref in refs {
            arguments.append(.string(ref.id.description))
            arguments.append(RedisArgument(ref.token))
        }
        return try results(
            await redis.run(redis.scripts[.release], partition: first.partition, arguments),
            count: refs.count
        )
    }

    package func recall(_ lost: LostClaims) async throws(StoreError) -> Int {
        let reply = try await redis.run(
            redis.scripts[.recall],
            partition: lost.partition,
            [
                .string(lost.owner.description), RedisArgument(lost.lease.ms),
                lost.since.map { RedisArgument($0.ms) } ?? "",
            ]
        )
        guard let count = reply.int else { throw .corrupt("recall.lua answered \(reply)") }
        return count
    }

    package func purge(
        partition: Int,
        retention: Duration,
        refundableRetention: Duration
    ) async throws(StoreError) -> Bool {
        let reply = try await redis.run(
            redis.scripts[.purge],
            partition: partition,
            [
                RedisArgument(retention.ms), RedisArgument(RedisPartitions.chunk),
                RedisArgument(refundableRetention.ms),
            ]
        )
        return reply.int == RedisPartitions.chunk
    }

    package func wakes() -> AsyncStream<Int?> {
        redis.partitionUpdates(on: redis.keys.wakeChannel)
    }

    package func marks() -> AsyncStream<Int?> {
        redis.partitionUpdates(on: redis.keys.markedChannel)
    }

    /// Appends six values of a commit, ten more if it has more than a new due time, and its events.
    private func append(_ commit: Commit<Change>, to arguments: inout [RedisArgument]) {
        let error = Record.error(of: commit.change) ?? ""
        let entry = Record.entry(of: commit.change)
        let payment = Record.payment(after: commit.change)
        let secret = Record.secret(after: commit.change, sealedBy: redis.masterKeys)
        let (verdict, value) = codes(of: commit)
        let hasMore =
            switch entry {
            case .events, .attempt: true
            case .nothing:
                !error.isEmpty || payment != nil || secret != nil || commit.signal != .fine
                    || Record.seesMoney(commit.change)
            }
        arguments.append(.string(commit.ref.id.description))
        arguments.append(RedisArgument(commit.ref.token))
        arguments.append(.string(hasMore ? verdict.rawValue.uppercased() : verdict.rawValue))
        arguments.append(value)
        arguments.append(.string((commit.isUrgent ? KeyKind.urgent : .normal).rawValue))
        arguments.append(.string(Record.state(after: commit.change)))
        guard hasMore else { return }
        arguments.append(.string(error))
        let (signal, span) = code(of: commit.signal)
        let code = signal?.rawValue ?? ""
        arguments.append(.string(circuit == .endpoint ? code.uppercased() : code))
        arguments.append(RedisArgument(max(span.ms, 0)))
        switch entry {
        case .events(let events):
            // Safe: events are at least one.
            let channel = redis.keys.events(of: events[0].key.source.description)
            arguments.append(RedisArgument(events.count))
            // Safe: events are at least one.
            arguments.append(RedisArgument(events[0].seq))
            arguments.append(.string(channel))
        case .attempt(let line):
            arguments.append("0")
            arguments.append(.string(line))
            arguments.append(RedisArgument(AttemptRecord.kept.ms))
        case .nothing:
            arguments.append("0")
            arguments.append("")
            arguments.append("")
        }
        arguments.append(.string(payment ?? ""))
        arguments.append(.bytes(secret ?? []))
        arguments.append(Record.seesMoney(commit.change) ? "1" : "")
        arguments.append(.string(Record.searchEntries(after: commit.change)))
        guard case .events(let events) = entry else { return }
        for event in events { arguments += redis.recordArguments(event) }
    }

    private func codes(of commit: Commit<Change>) -> (VerdictCode, RedisArgument) {
        switch commit.verdict {
        case .next(let wait):
            (commit.isDueRounded ? .nextRounded : .next, RedisArgument(max(wait.ms, 0)))
        case .close(let reason): (.close, .string(reason.rawValue))
        case .rest: (.rest, "")
        case .setAside: (.rest, .string(ClosedReason.dead.rawValue))
        }
    }

    private func code(of signal: LaneSignal) -> (SignalCode?, Duration) {
        switch signal {
        case .fine: (nil, .zero)
        case .hold(let span): (.hold, span)
        case .slow(let span): (.slow, span)
        case .failing: (.failing, .zero)
        case .erring: (.erring, .zero)
        case .denied: (.denied, .zero)
        case .stillFailing: (.stillFailing, .zero)
        case .revoked: (.revoked, .zero)
        case .garbled: (.garbled, .zero)
        case .stillGarbled: (.stillGarbled, .zero)
        case .refused(let span): (.refused, span)
        }
    }

    /// Reads an item of claim.lua's reply.
    ///
    /// It is {id, token, due, start, lane, private, {field, value, …}}; for a failing lane, also the time of the first
    /// failure and the number of failures.
    private func lease(
        _ value: RedisValue,
        _ request: ClaimRequest,
        _ now: Timestamp
    ) -> Lease<Item>? {
        guard let parts = value.array, parts.count >= 7, let token = parts[1].int,
            let due = parts[2].time, let start = parts[3].time, let short = parts[6].array,
            let id = parts[0].string, let lane = parts[4].string
        else {
            // Logs only the id: the rest may contain a client secret.
            let id = value.array?.first?.string ?? "unknown"
            redis.logger.error("record not understood", metadata: ["item.id": "\(id)"])
            return nil
        }
        let fields = ItemFields(
            id: id,
            lane: lane,
            short: short,
            privateValue: parts[5].string ?? "",
            masterKeys: redis.masterKeys
        )
        guard let item = Record.item(fields) else {
            // It stays leased until the lease expires, and is then claimed again: visible, and harmless to others.
            redis.logger.error("record not understood", metadata: ["item.id": "\(id)"])
            return nil
        }
        return Lease(
            ref: LeaseRef(
                id: ItemID(unchecked: id),
                partition: request.partition,
                token: token,
                owner: request.owner
            ),
            item: item,
            lane: LaneID(unchecked: lane),
            due: due,
            claimedAt: now,
            startsAt: start,
            endsAt: now + request.lease,
            crashes: fields.crashes,
            trouble: parts.count < 9
                ? nil
                : LaneTrouble(
                    failures: parts[8].count ?? 0,
                    since: parts[7].time ?? Timestamp(ms: 0)
                )
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
