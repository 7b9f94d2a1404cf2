import Logging
import NIOCore
import Poller
import PollerQueue
package import RedisClient
import SafeNumbers

/// The partitions of one queue in Redis: runs scripts in them and listens to their news.
struct RedisPartitions: Sendable {
    /// The most items a script gets in one call: 256 enqueues are about 4 ms of Redis.
    static let chunk = 256

    let client: RedisClient
    let keys: Keys
    let scripts: Scripts
    let logger: Logger
    /// How many replicas must have what is accepted or about to be told; nil asks none.
    let durability: RedisDurability?
    /// What seals the secrets in items.
    var masterKeys = MasterKeys.none
    /// Whether they may seal what a request brings; nil for always.
    var sealing: SealingGate?

    /// What the scripts that record an event are given of it: its JSON, and what is stored or ''.
    func recording(_ event: Event) -> [RedisArgument] {
        [.string(event.json), .bytes(PackedEvent.bytes(of: event))]
    }

    /// Runs a script in a partition, whatever lanes are in it.
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
        try await inPlace { () async throws(RedisError) in
            try await ask(script, partition, arguments, isDurable: isDurable)
        }
    }

    /// Runs a script that answers with an array; as ``run(_:partition:_:isDurable:)`` otherwise.
    func array(
        _ script: ScriptName,
        partition: Int = 0,
        _ arguments: [RedisArgument] = [],
        isDurable: Bool = false
    ) async throws(StoreError) -> [RedisValue] {
        let reply = try await run(
            scripts[script],
            partition: partition,
            arguments,
            isDurable: isDurable
        )
        guard let parts = reply.array else {
            throw .corrupt("\(script.rawValue) answered no array")
        }
        return parts
    }

    /// Reads a number that is stored as text in a hash; 0 when there is none.
    func number(_ field: String, of key: String) async throws(StoreError) -> Int64 {
        let command = RedisCommand("HGET", [.string(key), .string(field)])
        return Int64(safe: try await client.ask(command).string ?? "") ?? 0
    }

    /// Runs a script in the partition of a lane; as ``run(_:partition:_:isDurable:)`` otherwise.
    func run(
        _ script: RedisScript,
        of lane: LaneID,
        _ arguments: [RedisArgument],
        isDurable: Bool = false
    ) async throws(StoreError) -> RedisValue {
        try await inPlace { () async throws(RedisError) in
            let partition = keys.partition(of: lane.description)
            return try await ask(script, partition, arguments, isDurable: isDurable)
        }
    }

    /// Runs a script for things of several lanes, once for those that are in one partition together, and hands on
    /// what it answers; `lanes` are those of the things, which `call` gets by their places.
    ///
    /// Those of a partition that was split meanwhile are sorted anew, and the others are left as they are.
    func run(
        _ script: RedisScript,
        for lanes: [LaneID],
        most: Int = chunk,
        isDurable: Bool = false,
        _ call: @Sendable (ArraySlice<Int>) -> [RedisArgument],
        _ hear: (ArraySlice<Int>, RedisValue) throws(StoreError) -> Void
    ) async throws(StoreError) {
        var left = Array(lanes.indices)
        while !left.isEmpty {
            let reply: RedisValue
            let home = keys.partition(of: lanes[left[0]].description)
            let group = left.filter { keys.partition(of: lanes[$0].description) == home }
                .prefix(most)
            let arguments = call(group)
            var isElsewhere = false
            reply = try await inPlace { () async throws(RedisError) in
                // Whoever hears that the partition was split begins again with fewer of them.
                isElsewhere = group.contains { keys.partition(of: lanes[$0].description) != home }
                return isElsewhere
                    ? .null : try await ask(script, home, arguments, isDurable: isDurable)
            }
            if isElsewhere { continue }
            try hear(group, reply)
            left.removeAll(where: Set(group).contains)
        }
    }

    /// Hears of all partitions that were split, before it is decided where to look for what is of a lane.
    ///
    /// It costs nothing but while a store is given more of them.
    func hearOfSplits() async throws(StoreError) {
        for partition in keys.map.unsplit {
            _ = try await run(scripts[.held], partition: partition, ["0"])
        }
    }

    /// Does what reads several partitions, or a place that was found before; again where one was split meanwhile,
    /// of which something would be missing or there twice.
    ///
    /// Whoever reads a partition is told that it was split, and of one that is being filled nothing is told. So where
    /// nothing was heard all was read as it was before, or all as it is after.
    func steadily<Answer>(
        _ body: () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        while true {
            let before = keys.map.unsplit
            let answer = try await body()
            if keys.map.unsplit == before { return answer }
        }
    }

    private func ask(
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
            guard keys.map.hear(count, from: partition) else {
                throw .reply(Self.outdated(keys.map.partitions, count))
            }
            throw .reply(error)
        }
    }

    /// Does something that a partition may refuse because it is being split, or was; until it no longer does.
    private func inPlace<Answer: Sendable>(
        _ body: () async throws(RedisError) -> Answer
    ) async throws(StoreError) -> Answer {
        let patience = ContinuousClock.now + Self.splitPatience
        while true {
            do throws(RedisError) {
                return try await body()
            } catch .reply(let error) where error.isOfSplit && ContinuousClock.now < patience {
                // Placed as we are told now, it is there at once; what is being split takes a moment.
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

    /// How long a call waits for a partition that is being split: longer than most take, and shorter than whoever
    /// asked waits for an answer.
    private static let splitPatience = Duration.seconds(10)

    /// The error of a process that was started before the store was given more partitions.
    private static func outdated(_ known: Int, _ count: Int) -> RedisReplyError {
        RedisReplyError(
            code: "TRYAGAIN",
            message:
                "this process knows \(known) partitions, and the store has \(count): start it again"
        )
    }

    /// Makes sure that replicas have an outbox entry of a partition that was read.
    ///
    /// The server that is waited on must have the entry itself: after a failover it may be another
    /// than the one that was read from, and its replicas would confirm what it has never had.
    func confirm(partition: Int, entry id: String) async throws(StoreError) {
        guard durability != nil else { return }
        let reply = try await run(
            scripts[.confirm],
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

    /// Partitions named on a channel, nil when messages may have been lost.
    func news(on channel: String) -> AsyncStream<Int?> {
        let subscription = client.subscribe(channels: [channel])
        // In the task of whoever listens: one between costs as much again for each message.
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

extension RedisReplyError {
    /// Whether a partition refuses because it is being split, or was.
    fileprivate var isOfSplit: Bool {
        code == ScriptError.split.rawValue || code == ScriptError.splitting.rawValue
    }
}

extension StoreError {
    /// What an error of the client means to the callers of a store.
    ///
    /// A script that met a key on its way to another node had read before it wrote, so repeating is
    /// safe; every other answer that says "not now" means that nothing was executed.
    package init(_ error: RedisError) {
        switch error {
        case .reply(let reply):
            switch reply.kind {
            case .outOfMemory: self = .full
            case .other where reply.code == ScriptError.outOfOrder.rawValue:
                self = .outOfOrder("\(reply)")
            case .other: self = .corrupt("\(reply)")
            default: self = .unavailable("\(reply)")
            }
        case .protocolError(let detail), .replyTooLarge(let detail):
            self = .corrupt(detail)
        default:
            self = .unavailable("\(error)")
        }
    }
}

/// The client's calls for stores: what goes wrong is a ``StoreError``.
extension RedisClient {
    /// Runs a script.
    func run(
        _ script: RedisScript,
        _ keys: [String],
        _ arguments: [RedisArgument]
    ) async throws(StoreError) -> RedisValue {
        do throws(RedisError) {
            return try await eval(script, keys: keys, arguments: arguments)
        } catch {
            throw StoreError(error)
        }
    }

    /// Sends a command that is no script; `key` says which node of a Cluster is meant.
    func ask(_ command: RedisCommand, key: String? = nil) async throws(StoreError) -> RedisValue {
        do throws(RedisError) {
            return try await send(command, key: key)
        } catch {
            throw StoreError(error)
        }
    }

    /// Sends a command to every master; error replies stay in place.
    func askMasters(_ command: RedisCommand) async throws(StoreError) -> [RedisNodeReply] {
        do throws(RedisError) {
            return try await sendToMasters(command)
        } catch {
            throw StoreError(error)
        }
    }

    /// Makes a library known; why it is refused, if it is.
    func loaded(_ library: RedisLibrary) async throws(StoreError) -> RedisReplyError? {
        do throws(RedisError) {
            return try await load(library)
        } catch {
            throw StoreError(error)
        }
    }

    /// Sends commands in one go; error replies stay in place.
    func ask(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisValue] {
        do throws(RedisError) {
            return try await pipeline(commands)
        } catch {
            throw StoreError(error)
        }
    }
}
