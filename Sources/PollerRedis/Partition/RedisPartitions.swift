package import Logging
import NIOCore
package import PollerOperations
import PollerQueue
import PollerWatches
package import RedisClient
import SafeNumbers

/// The partitions of one queue in Redis: runs scripts in them and subscribes to their channels.
package struct RedisPartitions: Sendable {
    /// The most items a script gets in one call: 256 enqueues are about 4 ms of Redis.
    static let chunk = 256

    let client: RedisClient
    let keys: Keys
    let scripts: Scripts
    let logger: Logger
    /// How many replicas must have requests before they are accepted and events before they are delivered; `nil`
    /// requires none.
    let durability: RedisDurability?
    /// The keys that encrypt the secrets in items.
    var masterKeys = MasterKeys.none
    /// Whether secrets of a request may be encrypted; `nil` for always.
    var sealing: SealingGate?

    /// Returns the arguments for an event in the scripts that record it: its JSON, and its packed form or ''.
    func recordArguments(_ event: Event) -> [RedisArgument] {
        [.string(event.json), .bytes(PackedEvent.bytes(of: event))]
    }

    /// Runs a script in a partition.
    ///
    /// With `isDurable`, it returns once as many replicas as ``durability`` requires have the script's writes. It waits
    /// on the connection that wrote them, so the script must always write something. Too few replicas in time are
    /// ``StoreError/unavailable(_:maybeExecuted:)``; a repeat is harmless.
    func run(
        _ script: ScriptName,
        partition: Int,
        _ arguments: [RedisArgument],
        isDurable: Bool = false
    ) async throws(StoreError) -> RedisValue {
        try await run(scripts[script], partition, arguments, isDurable: isDurable)
    }

    private func run(
        _ script: RedisScript,
        _ partition: Int,
        _ arguments: [RedisArgument],
        isDurable: Bool = false
    ) async throws(StoreError) -> RedisValue {
        try await waitingForSplit { () async throws(RedisError) in
            try await execute(script, partition, arguments, isDurable: isDurable)
        }
    }

    /// Runs a script that returns an array; otherwise like ``run(_:partition:_:isDurable:)``.
    func array(
        _ script: ScriptName,
        partition: Int = 0,
        _ arguments: [RedisArgument] = [],
        isDurable: Bool = false
    ) async throws(StoreError) -> [RedisValue] {
        let reply = try await run(script, partition: partition, arguments, isDurable: isDurable)
        guard let parts = reply.array else {
            throw .corrupt("\(script.rawValue) answered no array")
        }
        return parts
    }

    /// Reads a number that is stored as text in a hash; 0 if there is none.
    func number(_ field: String, of key: String) async throws(StoreError) -> Int64 {
        let command = RedisCommand("HGET", [.string(key), .string(field)])
        return Int64(safe: try await client.execute(command).string ?? "") ?? 0
    }

    /// Runs a script in the partition of a lane; otherwise like ``run(_:partition:_:isDurable:)``.
    func run(
        _ script: ScriptName,
        of lane: LaneID,
        _ arguments: [RedisArgument],
        isDurable: Bool = false
    ) async throws(StoreError) -> RedisValue {
        let script = scripts[script]
        return try await waitingForSplit { () async throws(RedisError) in
            let partition = keys.partition(of: lane.description)
            return try await execute(script, partition, arguments, isDurable: isDurable)
        }
    }

    /// Runs a script for elements of several lanes, once per partition, and passes its replies on.
    ///
    /// `lanes` are those of the elements, which `call` gets by their indices. Elements of a partition that was split
    /// meanwhile are grouped again, and the others are left as they are.
    func run(
        _ script: ScriptName,
        for lanes: [LaneID],
        most: Int = chunk,
        isDurable: Bool = false,
        _ call: @Sendable (ArraySlice<Int>) -> [RedisArgument],
        _ receive: (ArraySlice<Int>, RedisValue) throws(StoreError) -> Void
    ) async throws(StoreError) {
        let script = scripts[script]
        var left = Array(lanes.indices)
        var targets = partitions(of: lanes)
        while let first = left.first {
            let target = targets[first]
            let all = left.filter { targets[$0] == target }
            let others = left.filter { targets[$0] != target }
            let group = all.prefix(most)
            let arguments = call(group)
            let groupLanes = Set(group.map { lanes[$0] })
            var isElsewhere = false
            let reply: RedisValue
            do throws(StoreError) {
                reply = try await waitingForSplit { () async throws(RedisError) in
                    // When the caller learns that the partition was split, it continues with the elements left.
                    isElsewhere = groupLanes.contains {
                        keys.partition(of: $0.description) != target
                    }
                    return isElsewhere
                        ? .null : try await execute(script, target, arguments, isDurable: isDurable)
                }
            } catch {
                throw left.count < lanes.count ? error.ofPart : error
            }
            if isElsewhere {
                targets = partitions(of: lanes)
                continue
            }
            try receive(group, reply)
            left = all.dropFirst(most) + others
        }
    }

    /// Runs a script for each element, all at once; the replies are in the order of the elements.
    func each<Thing: Sendable>(
        _ things: [Thing],
        _ call: @Sendable (Thing) -> (Int, ScriptName, [RedisArgument])
    ) async throws(StoreError) -> [RedisValue] {
        let calls = things.map(call).map { ($0, scripts[$1], $2) }
        let replies = await withTaskGroup { group in
            for (index, (partition, script, arguments)) in calls.enumerated() {
                group.addTask { () async -> (Int, Result<RedisValue, StoreError>) in
                    do throws(StoreError) {
                        let reply = try await run(script, partition, arguments)
                        return (index, .success(reply))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var replies = [Result<RedisValue, StoreError>?](repeating: nil, count: calls.count)
            for await (index, reply) in group { replies[index] = reply }
            return replies.compactMap(\.self)
        }
        var values: [RedisValue] = []
        for reply in replies { values.append(try reply.get()) }
        return values
    }

    private func partitions(of lanes: [LaneID]) -> [Int] {
        var known: [LaneID: Int] = [:]
        return lanes.map { lane in
            if let partition = known[lane] { return partition }
            let partition = keys.partition(of: lane.description)
            known[lane] = partition
            return partition
        }
    }

    /// Learns of all split partitions, before a lane's partition is chosen.
    ///
    /// It costs nothing unless the store is getting more partitions.
    func refreshSplits() async throws(StoreError) {
        for partition in keys.map.unsplit {
            _ = try await run(.countOpen, partition: partition, ["0"])
        }
    }

    /// Reads several partitions, or a position found before, and repeats if one was split meanwhile.
    ///
    /// Otherwise elements would be missing or appear twice. A reader of a split partition is informed of the split, and
    /// a partition that is being filled is skipped. So without such information, all partitions were read as before the
    /// split, or all as after it.
    func retryingOnSplit<Answer>(
        _ body: () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        while true {
            let before = keys.map.unsplit
            let answer = try await body()
            if keys.map.unsplit == before { return answer }
        }
    }

    private func execute(
        _ script: RedisScript,
        _ partition: Int,
        _ arguments: [RedisArgument],
        isDurable: Bool
    ) async throws(RedisError) -> RedisValue {
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
        } catch .reply(let error) where error.code == ScriptError.split.rawValue {
            let count = Int(count: error.message.prefix { $0 != " " }) ?? 0
            guard keys.map.receive(count, from: partition) else {
                throw .reply(Self.outdated(keys.map.partitions, count))
            }
            throw .reply(error)
        }
    }

    /// Repeats a call that a partition rejects because of a split, until the partition accepts it.
    private func waitingForSplit<Answer: Sendable>(
        _ body: () async throws(RedisError) -> Answer
    ) async throws(StoreError) -> Answer {
        let deadline = ContinuousClock.now + Self.splitTimeout
        while true {
            do throws(RedisError) {
                return try await body()
            } catch .reply(let error) where error.isOfSplit && ContinuousClock.now < deadline {
                // With the new layout, the call succeeds at once. A running split takes a moment.
                let isOver = error.code == ScriptError.split.rawValue
                do {
                    try await Task.sleep(for: isOver ? .milliseconds(5) : .milliseconds(50))
                } catch {
                    throw .unavailable("cancelled while a partition was being split")
                }
            } catch .reply(let error) where error.isOfSplit {
                throw .unavailable("the partition is being split; try again")
            } catch {
                throw StoreError(error)
            }
        }
    }

    /// How long a call waits for a partition that is being split.
    ///
    /// Most splits are faster, and callers wait longer for a response.
    private static let splitTimeout = Duration.seconds(10)

    /// Returns the error of a process that was started before the store got more partitions.
    private static func outdated(_ known: Int, _ count: Int) -> RedisReplyError {
        RedisReplyError(
            code: "TRYAGAIN",
            message:
                "this process knows \(known) partitions, and the store has \(count): start it again"
        )
    }

    /// Ensures that replicas have an outbox entry of a partition that was read.
    ///
    /// The server whose replicas are waited for must have the entry itself. After a failover it may be another server
    /// than the one read from, and its replicas would confirm an entry they never had.
    func confirm(partition: Int, entry id: String) async throws(StoreError) {
        guard durability != nil else { return }
        let reply = try await run(.confirm, partition: partition, [.string(id)], isDurable: true)
        guard reply.int == 1 else {
            throw .unavailable("what was read is not on this server: a failover has lost it")
        }
    }

    /// Returns the error of a write that too few replicas have; a repeat is harmless.
    private static func tooFew(_ replicas: Int, _ durability: RedisDurability) -> RedisReplyError {
        let message = "\(replicas) of \(durability.replicas) replicas have it in time; try again"
        return RedisReplyError(code: "NOREPLICAS", message: message)
    }

    /// Returns the partitions named on a channel, and `nil` when messages may have been lost.
    func partitionUpdates(on channel: String) -> AsyncStream<Int?> {
        let subscription = client.subscribe(channels: [channel])
        // This runs in the task of the subscriber: a task in between would double the cost of each message.
        return AsyncStream {
            while let event = await subscription.next() {
                switch event {
                case .message(_, _, let payload):
                    if let partition = Int(count: String(buffer: payload)) {
                        return .some(partition)
                    }
                case .subscribed, .gap: return .some(nil)
                }
            }
            return nil
        } onCancel: {
            subscription.cancel()
        }
    }
}

extension RedisPartitions {
    /// Creates the partitions of a cluster's watches, for all stores in them.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: namespace and partitions, as verified at start.
    ///   - scripts: the live ones, or those of a test's clock.
    ///   - durability: how many replicas must have a watch before it is accepted, and an event
    ///     before it is delivered; `nil` requires none.
    ///   - masterKeys: encrypt client secrets.
    ///   - sealing: whether encryption is allowed; `nil` for always.
    ///   - logger: receives records that cannot be read.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        durability: RedisDurability? = nil,
        masterKeys: MasterKeys = .none,
        sealing: SealingGate? = nil,
        logger: Logger
    ) {
        self.init(
            client: client,
            keys: layout.watchKeys,
            scripts: scripts,
            logger: logger,
            durability: durability,
            masterKeys: masterKeys,
            sealing: sealing
        )
    }
}

extension RedisReplyError {
    /// Whether a partition rejects a call because of a running or finished split.
    fileprivate var isOfSplit: Bool {
        code == ScriptError.split.rawValue || code == ScriptError.splitting.rawValue
    }
}

extension StoreError {
    /// Creates the error that callers of a store get for an error of the client.
    ///
    /// A script that met a key on its way to another node had read before it wrote, so repeating is safe.
    package init(_ error: RedisError) {
        switch error {
        case .reply(let reply):
            switch reply.kind {
            case .outOfMemory: self = .full
            case .other where reply.code == ScriptError.outOfOrder.rawValue:
                self = .outOfOrder("\(reply)")
            case .other: self = .corrupt("\(reply)")
            default: self = .unavailable("\(reply)", maybeExecuted: error.maybeExecuted)
            }
        case .protocolError(let detail), .replyTooLarge(let detail):
            self = .corrupt(detail)
        default:
            self = .unavailable("\(error)", maybeExecuted: error.maybeExecuted)
        }
    }

    /// The error of an operation of several commands, of which others may have been executed.
    var ofPart: StoreError {
        guard case .unavailable(let reason, _) = self else { return self }
        return .unavailable(reason)
    }
}

/// The client's calls for stores: errors are thrown as ``StoreError``.
extension RedisClient {
    func run(
        _ script: ScriptName,
        _ keys: [String],
        _ arguments: [RedisArgument],
        scripts: Scripts = .live
    ) async throws(StoreError) -> RedisValue {
        do throws(RedisError) {
            return try await eval(scripts[script], keys: keys, arguments: arguments)
        } catch {
            throw StoreError(error)
        }
    }

    /// Sends a command that is not a script; `key` selects the node of a Cluster.
    func execute(_ command: RedisCommand, key: String? = nil) async throws(StoreError) -> RedisValue
    {
        do throws(RedisError) {
            return try await send(command, key: key)
        } catch {
            throw StoreError(error)
        }
    }

    /// Sends a command to every master; error replies stay in place.
    func executeOnMasters(_ command: RedisCommand) async throws(StoreError) -> [RedisNodeReply] {
        do throws(RedisError) {
            return try await sendToMasters(command)
        } catch {
            throw StoreError(error)
        }
    }

    /// Loads a library; returns the error of a rejection.
    func loaded(_ library: RedisLibrary) async throws(StoreError) -> RedisReplyError? {
        do throws(RedisError) {
            return try await load(library)
        } catch {
            throw StoreError(error)
        }
    }

    /// Sends commands together; error replies stay in place.
    func execute(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisValue] {
        do throws(RedisError) {
            return try await pipeline(commands)
        } catch {
            throw StoreError(error)
        }
    }
}
