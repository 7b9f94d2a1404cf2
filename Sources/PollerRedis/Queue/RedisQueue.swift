import Logging
import PollerDeliveries
import PollerIdentity
import PollerOperations
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
protocol RedisQueue: LeaseQueue, RedisItems where Record.Item == Item, Record.Change == Change {
    /// How long its lanes are held while their attempts fail.
    var circuit: CircuitHold { get }
}

extension RedisQueue {
    package var partitions: Int { redis.keys.partitions }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim<Item> {
        let reply = try await redis.run(.claim, partition: request.partition, [request.argument])
        return try answer(reply, to: request).claim
    }

    package func commit(_ commits: [Commit<Change>]) async throws(StoreError) -> [CommitResult] {
        guard let first = commits.first else { return [] }
        var results: [CommitResult] = []
        for start in stride(from: 0, to: commits.count, by: RedisPartitions.chunk) {
            let part = Array(commits[start..<min(start + RedisPartitions.chunk, commits.count)])
            let reply = try await commit(
                part,
                partition: first.ref.partition,
                ClaimRequest.argument(of: first.ref.owner)
            )
            results += try answer(reply, count: part.count).head.results
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
        let part = Array(commits.dropFirst(early))
        let reply = try await commit(part, partition: request.partition, request.argument)
        let last = try answer(reply, count: part.count, to: request)
        return (before + last.results, last.claim)
    }

    /// The packed size of a result without a change.
    private static var usualCommitBytes: Int { 96 }

    private func commit(
        _ commits: [Commit<Change>],
        partition: Int,
        _ request: RedisArgument
    ) async throws(StoreError) -> RedisValue {
        var writer = MessagePackWriter(capacity: commits.count * Self.usualCommitBytes)
        writer.beginList(commits.count)
        var events: [RedisArgument] = []
        for commit in commits {
            precondition(
                commit.ref.partition == partition && commit.ref.owner == commits[0].ref.owner,
                "commits of one call belong to one partition and one owner"
            )
            write(commit, to: &writer, events: &events)
        }
        return try await redis.run(
            .commit,
            partition: partition,
            [request, writer.argument] + events
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
            await redis.run(.release, partition: first.partition, arguments),
            count: refs.count
        )
    }

    package func recall(_ lost: LostClaims) async throws(StoreError) -> Int {
        let reply = try await redis.run(
            .recall,
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
            .purge,
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

    /// Writes a commit (``CommitField``), and adds the values of its events to those of the commits before it.
    private func write(
        _ commit: Commit<Change>,
        to writer: inout MessagePackWriter,
        events arguments: inout [RedisArgument]
    ) {
        typealias Field = CommitField
        writer.beginMap()
        writer.add(Field.id, commit.ref.id.description)
        writer.add(Field.token, String(commit.ref.token))
        writer.add(Field.state, Record.state(after: commit.change))
        switch commit.verdict {
        case .next(let wait):
            writer.add(Field.waitMs, max(wait.ms, 0))
            writer.add(Field.isDueRounded, commit.isDueRounded)
        case .close(let reason):
            writer.add(Field.verdict, VerdictCode.close.rawValue)
            writer.add(Field.reason, reason.rawValue)
        case .rest: writer.add(Field.verdict, VerdictCode.rest.rawValue)
        case .setAside:
            writer.add(Field.verdict, VerdictCode.rest.rawValue)
            writer.add(Field.reason, ClosedReason.dead.rawValue)
        }
        writer.add(Field.isUrgent, commit.isUrgent)
        if let error = Record.error(of: commit.change), !error.isEmpty {
            writer.add(Field.error, error)
        }
        let (signal, span) = code(of: commit.signal)
        if let signal {
            writer.add(Field.signal, signal.rawValue)
            writer.add(Field.signalMs, max(span.ms, 0))
            writer.add(Field.isEndpoint, circuit == .endpoint)
        }
        switch Record.entry(of: commit.change) {
        case .events(let events):
            // Safe: events are at least one.
            writer.add(Field.seq, events[0].seq)
            // Safe: events are at least one.
            writer.add(Field.channel, redis.keys.events(of: events[0].key.source.description))
            writer.add(Field.events, events.count)
            for event in events {
                arguments.append(.string(event.json))
                arguments.append(.bytes(PackedEvent.bytes(of: event)))
            }
        case .attempt(let entry):
            writer.add(Field.attempt)
            writer.append(entry)
            writer.add(Field.attemptMs, AttemptRecord.kept.ms)
        case .nothing: break
        }
        if let payment = Record.payment(after: commit.change) { writer.add(Field.payment, payment) }
        if let secret = Record.secret(after: commit.change, sealedBy: redis.masterKeys) {
            writer.add(Field.secret)
            writer.append(secret)
        }
        let entries = Record.searchEntries(after: commit.change)
        if !entries.isEmpty { writer.add(Field.entries, entries) }
        writer.add(Field.seesMoney, Record.seesMoney(commit.change))
        writer.add(Field.hasCharged, Record.hasCharged(commit.change))
        writer.endMap()
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

/// The replies of claim.lua and commit.lua.
extension RedisQueue {
    /// Reads a reply to `count` commits; the leases of a claim are still to be read.
    private func answer(
        _ reply: RedisValue,
        count: Int
    ) throws(StoreError) -> (head: ReplyHead, rest: MessagePackReader) {
        var reader = MessagePackReader(reply.bytes ?? [])
        // The reply contains secrets of watches, so the error does not show it.
        guard let head = ReplyHead(from: &reader), head.results.count == count else {
            throw .corrupt("the answer to \(count) commits is not understood")
        }
        // The item stays leased until the lease expires: visible, and harmless to others.
        for error in head.errors {
            redis.logger.error("commit impossible", metadata: ["error": "\(error)"])
        }
        return (head, reader)
    }

    private func answer(
        _ reply: RedisValue,
        count: Int = 0,
        to request: ClaimRequest
    ) throws(StoreError) -> (results: [CommitResult], claim: Claim<Item>) {
        var (head, reader) = try answer(reply, count: count)
        guard let now = head.now, let claimed = reader.list() else {
            throw .corrupt("the answer to a claim is not understood")
        }
        var leases: [Lease<Item>] = []
        leases.reserveCapacity(claimed)
        for _ in 0..<claimed {
            guard let read = ClaimedValues(from: &reader, masterKeys: redis.masterKeys) else {
                throw .corrupt("the answer to a claim is not understood")
            }
            if let lease = lease(read, request, now) { leases.append(lease) }
        }
        let claim = Claim(
            leases: leases,
            now: now,
            nextReady: head.nextReady,
            recovered: head.recovered,
            fullLanes: head.fullLanes
        )
        return (head.results, claim)
    }

    /// Returns a lease of a reply, or `nil` if its item is not understood.
    ///
    /// Such an item stays leased until the lease expires, and is then claimed again: visible, and harmless to others.
    private func lease(
        _ values: ClaimedValues,
        _ request: ClaimRequest,
        _ now: Timestamp
    ) -> Lease<Item>? {
        let id = values.fields.id
        guard let token = values.token, let due = values.due, let start = values.start,
            let item = Record.item(values.fields)
        else {
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
            lane: LaneID(unchecked: values.fields.lane),
            due: due,
            claimedAt: now,
            startsAt: start,
            endsAt: now + request.lease,
            crashes: values.fields.crashes,
            outage: values.outage
        )
    }
}

/// The values of a reply that precede its leases.
private struct ReplyHead {
    var results: [CommitResult] = []
    var errors: [String] = []
    var now: Timestamp?
    var nextReady: Timestamp?
    var recovered = 0
    var fullLanes: Set<LaneID> = []

    init?(from reader: inout MessagePackReader) {
        guard let count = reader.map() else { return nil }
        var ready: MessagePackValue?
        for _ in 0..<count {
            guard let name = reader.next()?.string.flatMap(ReplyField.init(rawValue:)) else {
                return nil
            }
            switch name {
            case .results:
                guard let count = reader.list() else { return nil }
                for _ in 0..<count {
                    guard let result = reader.next()?.int else { return nil }
                    results.append(result == 1 ? .done : .leaseLost)
                }
            case .errors:
                guard let count = reader.list() else { return nil }
                for _ in 0..<count {
                    guard let error = reader.next()?.string else { return nil }
                    errors.append(error)
                }
            case .now: now = reader.next()?.time
            case .nextReady: ready = reader.next()
            case .recovered: recovered = reader.next()?.int ?? 0
            case .fullLanes:
                guard let count = reader.list() else { return nil }
                for _ in 0..<count {
                    guard let lane = reader.next()?.string else { return nil }
                    fullLanes.insert(LaneID(unchecked: lane))
                }
            }
        }
        // A time out of range comes from a damaged lane. The claim itself is valid, and the partition is claimed from
        // again later.
        if let ready { nextReady = ready.time ?? now.map { $0 + .seconds(60) } }
    }
}

/// The values of a lease (``LeaseValue``); those that cannot be read are `nil`.
private struct ClaimedValues {
    let token: Int?
    let due: Timestamp?
    let start: Timestamp?
    let fields: ItemFields
    let outage: LaneOutage?

    init?(from reader: inout MessagePackReader, masterKeys: MasterKeys) {
        guard reader.list() == LeaseValue.allCases.count, let id = reader.next()?.string,
            let token = reader.next(), let due = reader.next(), let start = reader.next(),
            let lane = reader.next()?.string, let privateValue = reader.next()?.string,
            let count = reader.list()
        else { return nil }
        var fields = ItemFields(
            id: id,
            lane: lane,
            privateValue: privateValue,
            masterKeys: masterKeys
        )
        for _ in 0..<count / 2 {
            guard let name = reader.next()?.text, let value = reader.next()?.text else {
                return nil
            }
            fields.add(name, value)
        }
        guard let failingSince = reader.next(), let failures = reader.next() else { return nil }
        (self.token, self.due, self.start, self.fields) = (token.int, due.time, start.time, fields)
        outage =
            switch failingSince {
            case .nothing: nil
            default:
                LaneOutage(
                    failures: max(failures.int ?? 0, 0),
                    since: failingSince.time ?? Timestamp(ms: 0)
                )
            }
    }
}

extension MessagePackValue {
    /// A time in milliseconds; `nil` for any other value.
    fileprivate var time: Timestamp? { int.map { Timestamp(ms: Int64(clamping: $0)) } }
}

extension ClaimRequest {
    /// The request as an argument of claim.lua and commit.lua (``ClaimField``).
    var argument: RedisArgument {
        typealias Field = ClaimField
        var writer = MessagePackWriter()
        writer.beginMap()
        writer.add(Field.owner, owner.description)
        writer.add(Field.limit, min(max(limit, 0), 1024))
        writer.add(Field.leaseMs, lease.ms)
        writer.add(Field.intervalUs, lane.intervalUs)
        writer.add(Field.burst, lane.burst)
        writer.add(Field.inFlightMax, lane.inFlightMax)
        writer.add(Field.aheadMs, ahead.ms)
        writer.endMap()
        return writer.argument
    }

    /// Returns the argument of commits without a claim.
    static func argument(of owner: OwnerID) -> RedisArgument {
        var writer = MessagePackWriter()
        writer.beginMap()
        writer.add(ClaimField.owner, owner.description)
        writer.endMap()
        return writer.argument
    }
}
