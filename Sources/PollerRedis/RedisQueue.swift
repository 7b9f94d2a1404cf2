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
    /// How long its lanes are held while their attempts fail.
    var circuit = CircuitHold.upstream
    /// How many replicas must have what is accepted or about to be told; nil asks none.
    var durability: RedisDurability?

    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Record.Item> {
        let reply = try await run(
            scripts.claim,
            partition: request.partition,
            arguments(of: request)
        )
        return try claim(request, reply)
    }

    func commit(_ commits: [Commit<Record.Change>]) async throws(StoreError) -> [CommitResult] {
        guard let first = commits.first else { return [] }
        let nothing: [RedisArgument] = [
            .string(first.ref.owner.description), "0", "0", "0", "0", "0", "0",
        ]
        var results: [CommitResult] = []
        for start in stride(from: 0, to: commits.count, by: Self.chunk) {
            let part = Array(commits[start..<min(start + Self.chunk, commits.count)])
            results += try await commit(part, partition: first.ref.partition, nothing).0
        }
        return results
    }

    /// The claim goes with the last part of what is committed.
    func commit(
        _ commits: [Commit<Record.Change>],
        then request: ClaimRequest
    ) async throws(StoreError) -> (results: [CommitResult], claim: Claim<Record.Item>) {
        let early = max(0, commits.count - Self.chunk)
        let before = try await commit(Array(commits.prefix(early)))
        let (last, reply) = try await commit(
            Array(commits.dropFirst(early)),
            partition: request.partition,
            arguments(of: request)
        )
        return (before + last, try claim(request, reply))
    }

    /// Makes sure that replicas have an outbox entry of a partition that was read.
    ///
    /// The server that is waited on must have the entry itself: after a failover it may be another
    /// than the one that was read from, and its replicas would confirm what it has never had.
    func confirm(partition: Int, entry id: String) async throws(StoreError) {
        guard durability != nil else { return }
        let reply = try await run(
            scripts.confirm,
            partition: partition,
            [.string(id)],
            isDurable: true
        )
        guard reply.int == 1 else {
            throw .unavailable("what was read is not on this server: a failover has lost it")
        }
    }

    /// The error of a write that too few replicas have; repeating it is harmless.
    private static func tooFew(_ replicas: Int, _ durability: RedisDurability) -> RedisReplyError {
        let message = "\(replicas) of \(durability.replicas) replicas have it in time; try again"
        return RedisReplyError(code: "NOREPLICAS", message: message)
    }

    private func commit(
        _ commits: [Commit<Record.Change>],
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
        let reply = try await run(scripts.commit, partition: partition, arguments)
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
    ) throws(StoreError) -> Claim<Record.Item> {
        guard let parts = reply.array, parts.count >= 3, let now = parts[0].int,
            let ready = parts[1].int, let recovered = parts[2].int
        else { throw .corrupt("claim.lua's answer is not understood") }
        let claimedAt = Timestamp(ms: Int64(now))
        return Claim(
            leases: parts.dropFirst(3).compactMap { lease($0, request, claimedAt) },
            now: claimedAt,
            nextReady: ready < 0 ? nil : Timestamp(ms: Int64(ready)),
            recovered: recovered
        )
    }

    func release(_ refs: [LeaseRef]) async throws(StoreError) -> [CommitResult] {
        guard let first = refs.first else { return [] }
        if refs.count > Self.chunk {
            let rest = try await release(Array(refs.dropFirst(Self.chunk)))
            return try await release(Array(refs.prefix(Self.chunk))) + rest
        }
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
    ///
    /// With `isDurable` it returns once as many replicas as ``durability`` asks for have what the
    /// script wrote, waiting on the connection that wrote it; it must write something whatever it
    /// finds. Too few in time are ``StoreError/unavailable(_:)``: repeating is harmless.
    func run(
        _ script: RedisScript,
        partition: Int,
        _ arguments: [RedisArgument],
        isDurable: Bool = false
    ) async throws(StoreError) -> RedisValue {
        let declared = keys.declared(partition)
        do throws(RedisError) {
            guard isDurable, let durability else {
                return try await client.eval(script, keys: declared, arguments: arguments)
            }
            let written = try await client.eval(
                script,
                keys: declared,
                arguments: arguments,
                waitFor: durability
            )
            guard written.replicas >= durability.replicas else {
                throw .reply(Self.tooFew(written.replicas, durability))
            }
            return written.reply
        } catch {
            throw StoreError(error)
        }
    }

    /// Six values of a commit, and six more when it has anything but a new due time to tell.
    private func append(_ commit: Commit<Record.Change>, to arguments: inout [RedisArgument]) {
        let writing = Record.writing(commit.change)
        let hasMore =
            writing.event != nil || !writing.error.isEmpty || commit.signal != .fine
            || writing.attempt != nil
        arguments.append(.string(commit.ref.id.description))
        arguments.append(RedisArgument(commit.ref.token))
        switch commit.verdict {
        case .next(let wait):
            arguments.append(hasMore ? "N" : "n")
            arguments.append(RedisArgument(max(wait.ms, 0)))
        case .close(let reason):
            arguments.append(hasMore ? "C" : "c")
            arguments.append(.string(reason.rawValue))
        case .rest:
            arguments.append(hasMore ? "R" : "r")
            arguments.append("")
        case .setAside:
            arguments.append(hasMore ? "R" : "r")
            arguments.append(.string(ClosedReason.dead.rawValue))
        }
        arguments.append(commit.isUrgent ? "u" : "z")
        arguments.append(.string(writing.state))
        guard hasMore else { return }
        arguments.append(.string(writing.error))
        let (signal, span) = letter(of: commit.signal)
        arguments.append(.string(circuit == .endpoint ? signal.uppercased() : signal))
        arguments.append(RedisArgument(max(span.ms, 0)))
        if let event = writing.event {
            arguments.append(RedisArgument(event.seq))
            arguments.append(.string(event.json))
            arguments.append(.string(keys.events(of: event.key.source.description)))
        } else {
            arguments.append("0")
            arguments.append(.string(writing.attempt ?? ""))
            arguments.append(RedisArgument(AttemptRecord.kept.ms))
        }
    }

    private func letter(of signal: LaneSignal) -> (String, Duration) {
        switch signal {
        case .fine: ("", .zero)
        case .hold(let span): ("h", span)
        case .slow(let span): ("s", span)
        case .failing: ("f", .zero)
        case .denied: ("d", .zero)
        case .stillFailing: ("k", .zero)
        case .refused(let span): ("r", span)
        }
    }

    /// Reads claim.lua's item: {id, token, due, start, lane, private, {field, value, …}}, and where
    /// the lane is in trouble since when and how many failures.
    private func lease(
        _ value: RedisValue,
        _ request: ClaimRequest,
        _ now: Timestamp
    ) -> Lease<Record.Item>? {
        guard let parts = value.array, parts.count >= 7, let token = parts[1].int,
            let due = parts[2].int, let start = parts[3].int, let short = parts[6].array,
            let id = parts[0].string, let lane = parts[4].string
        else {
            // Its id alone: the rest may be a client secret.
            let id = value.array?.first?.string ?? "unknown"
            logger.error("record not understood", metadata: ["item.id": "\(id)"])
            return nil
        }
        let fields = ItemFields(
            id: id,
            lane: lane,
            short: short,
            privateValue: parts[5].string ?? ""
        )
        guard let item = Record.item(fields) else {
            // It stays leased until the lease ends and comes back: visible, and harmless to others.
            logger.error("record not understood", metadata: ["item.id": "\(id)"])
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
            due: Timestamp(ms: Int64(due)),
            claimedAt: now,
            startsAt: Timestamp(ms: Int64(start)),
            endsAt: now + request.lease,
            crashes: fields.crashes,
            trouble: parts.count < 9
                ? nil
                : LaneTrouble(
                    failures: parts[8].int ?? 0,
                    since: Timestamp(ms: Int64(parts[7].int ?? 0))
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
