import DequeModule
import Synchronization

/// How safe a write must be before its call returns: `WAIT replicas timeout`.
///
/// It narrows the loss at a failover, it does not exclude it: the write is in the master whatever
/// the outcome, and the replica that is promoted need not be one of those that have it.
package struct RedisDurability: Sendable, Hashable {
    /// How many replicas must have the write.
    package let replicas: Int
    /// How long to wait for them, in whole milliseconds from 1.
    package let timeout: Duration

    /// A demand; the timeout is cut to between 1 ms and half of
    /// ``RedisConfiguration/commandTimeout``.
    package init(replicas: Int, timeout: Duration) {
        precondition(replicas > 0, "no replica needs no waiting: call without durability")
        self.replicas = replicas
        self.timeout = timeout
    }

    /// The command, its timeout cut to `limit`.
    func command(limit: Duration) -> RedisCommand {
        let bounded = max(.milliseconds(1), min(timeout, limit))
        let (seconds, attoseconds) = bounded.components
        let ms = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return RedisCommand("WAIT", [RedisArgument(replicas), RedisArgument(ms)])
    }
}

/// The reply to a write that waited for replicas.
package struct RedisDurableReply: Sendable, Hashable {
    /// The command's own reply.
    package let reply: RedisValue
    /// How many replicas had the write when the wait ended; fewer than asked for after a timeout.
    package let replicas: Int

    /// A reply and its acknowledgements.
    package init(reply: RedisValue, replicas: Int) {
        self.reply = reply
        self.replicas = replicas
    }
}

/// Writes that wait for replicas, over a connection of their own.
///
/// Problem: `WAIT` holds up every later command of its connection, so on the shared connection one
/// durable write would delay everybody by up to its timeout; and one `WAIT` a write would serialise
/// durable writes at a round trip to the replicas each. Approach: a second connection, and group
/// commit: while one `WAIT` is outstanding, further writes gather; then they go out together before
/// one `WAIT`, whose offset covers them all. The count is thus never too high for any of them.
/// Rejected: a connection for each call (a login each, and no bound on connections).
///
/// `WAIT` counts from the connection's last write. A command that wrote nothing (a duplicate, say)
/// is not covered: let it write something.
final class RedisDurableWrites: Sendable {
    private struct Member {
        let commands: [RedisCommand]
        let durability: RedisDurability
        let waiter: RedisWaiter<[RedisValue]>
    }

    /// What the lock guards: the writes that wait to share a `WAIT`.
    private struct State {
        var waiting = Deque<Member>()
        var isBusy = false
    }

    /// How many commands share a `WAIT`: more would not be faster and would wait for each other.
    private static let batchMax = 256

    private let link: RedisCommandLink
    private let waitMax: Duration
    private let waitingMax: Int
    private let state = Mutex(State())

    init(link: RedisCommandLink, configuration: RedisConfiguration) {
        self.link = link
        // The reply must come before the command times out.
        self.waitMax = configuration.commandTimeout / 2
        self.waitingMax = configuration.inFlightMax
    }

    /// Performs commands and waits; the last reply is the number of replicas.
    func perform(
        _ commands: [RedisCommand],
        _ durability: RedisDurability
    ) async -> RedisRequest.Outcome {
        let waiter = RedisWaiter<[RedisValue]>()
        let member = Member(commands: commands, durability: durability, waiter: waiter)
        let isAccepted = state.withLock { state in
            guard state.waiting.count < waitingMax else { return false }
            state.waiting.append(member)
            return true
        }
        guard isAccepted else { return .failure(.tooManyCommandsInFlight) }
        sendNext()
        return await waiter.wait()
    }

    /// Sends what has gathered, unless a `WAIT` is outstanding.
    private func sendNext() {
        let batch: [Member] = state.withLock { state in
            guard !state.isBusy, let first = state.waiting.first else { return [] }
            state.isBusy = true
            var batch: [Member] = []
            var commands = 0
            while let next = state.waiting.first, next.durability == first.durability,
                batch.isEmpty || commands + next.commands.count <= Self.batchMax
            {
                commands += next.commands.count
                batch.append(state.waiting.removeFirst())
            }
            return batch
        }
        guard let first = batch.first else { return }
        let wait = first.durability.command(limit: waitMax)
        link.perform(batch.flatMap(\.commands) + [wait]) { outcome in
            Self.resume(batch, with: outcome)
            self.state.withLock { $0.isBusy = false }
            self.sendNext()
        }
    }

    private static func resume(_ batch: [Member], with outcome: RedisRequest.Outcome) {
        switch outcome {
        case .failure(let error):
            for member in batch { member.waiter.resume(.failure(error)) }
        case .success(let replies):
            var rest = replies[...]
            for member in batch {
                let memberReplies =
                    Array(rest.prefix(member.commands.count)) + [replies[replies.count - 1]]
                rest = rest.dropFirst(member.commands.count)
                member.waiter.resume(.success(memberReplies))
            }
        }
    }
}
