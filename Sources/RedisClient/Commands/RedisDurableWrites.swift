import DequeModule
import NIOCore
import Synchronization

/// How many replicas must have a write before its call returns: `WAIT replicas timeout`.
///
/// It reduces the loss at a failover but does not exclude it. The master has the write whatever the
/// outcome, and the promoted replica need not be one of those that have it.
package struct RedisDurability: Sendable, Hashable {
    /// The number of replicas that must have the write.
    package let replicas: Int
    /// How long to wait for them, in whole milliseconds from 1.
    package let timeout: Duration

    /// Makes a durability requirement.
    ///
    /// The timeout is limited to between 1 ms and half of ``RedisConfiguration/commandTimeout``.
    package init(replicas: Int, timeout: Duration) {
        precondition(replicas > 0, "no replicas required: call without durability")
        self.replicas = replicas
        self.timeout = timeout
    }

    /// The `WAIT` command, with its timeout limited to `limit`.
    func command(limit: Duration) -> RedisCommand {
        let bounded = max(.milliseconds(1), min(timeout, limit))
        let (seconds, attoseconds) = bounded.components
        let ms = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return RedisCommand("WAIT", [RedisArgument(replicas), RedisArgument(ms)])
    }
}

/// The reply to a write that waited for replicas.
package struct RedisDurableReply: Sendable, Hashable {
    /// The reply of the command itself.
    package let reply: RedisValue
    /// How many replicas had the write when the wait ended; after a timeout, fewer than requested.
    package let replicas: Int

    /// Makes a reply with its number of replicas.
    package init(reply: RedisValue, replicas: Int) {
        self.reply = reply
        self.replicas = replicas
    }
}

/// Writes that wait for replicas, over a separate connection.
///
/// Problem: `WAIT` blocks every later command of its connection. On the shared connection one
/// durable write would therefore delay all others by up to its timeout. And one `WAIT` per write
/// would serialise durable writes at one round trip to the replicas each. Approach: a second
/// connection and group commit. While one `WAIT` is outstanding, further writes are collected. They
/// are then sent together before one `WAIT`, whose offset covers them all. The count is thus never
/// too high for any of them. Rejected: a connection per call, which needs a login each and has no
/// bound on connections.
///
/// A write that waits for the previous `WAIT` fails after the command timeout, and is not sent if
/// its caller was cancelled. So no write takes longer than two timeouts, however many wait for a
/// lost server.
///
/// `WAIT` counts from the connection's last write. A command that wrote nothing, such as a
/// duplicate, is not covered: make it write something.
final class RedisDurableWrites: Sendable {
    private struct Member {
        let commands: [RedisCommand]
        let durability: RedisDurability
        let waiter: RedisWaiter<[RedisValue]>
        /// When it fails if it has not been sent.
        let deadline: RedisInstant
    }

    /// The state behind the lock: the writes that will share the next `WAIT`.
    private struct State {
        /// The oldest first, and so the one with the earliest deadline.
        var waiting = Deque<Member>()
        var isBusy = false
        var isExpiryScheduled = false
    }

    /// The most commands that share a `WAIT`: more would not be faster and would wait for each
    /// other.
    private static let batchMax = 256

    private let link: RedisCommandLink
    private let eventLoop: any EventLoop
    private let timeout: Duration
    private let waitMax: Duration
    private let waitingMax: Int
    private let state = Mutex(State())

    init(
        link: RedisCommandLink,
        configuration: RedisConfiguration,
        eventLoop: any EventLoop
    ) {
        self.link = link
        self.eventLoop = eventLoop
        self.timeout = configuration.commandTimeout
        // The reply must arrive before the command times out.
        self.waitMax = configuration.commandTimeout / 2
        self.waitingMax = configuration.inFlightMax
    }

    /// Performs commands and waits for replicas; the last reply is the number of replicas.
    func perform(
        _ commands: [RedisCommand],
        _ durability: RedisDurability
    ) async -> RedisRequest.Outcome {
        let waiter = RedisWaiter<[RedisValue]>()
        let (isAccepted, expiry): (Bool, RedisInstant?) = state.withLock { state in
            guard state.waiting.count < waitingMax else { return (false, nil) }
            let deadline = RedisInstant(.now()) + timeout
            state.waiting.append(
                Member(
                    commands: commands,
                    durability: durability,
                    waiter: waiter,
                    deadline: deadline
                )
            )
            let schedules = !state.isExpiryScheduled
            state.isExpiryScheduled = true
            return (true, schedules ? deadline : nil)
        }
        guard isAccepted else { return .failure(.tooManyCommandsInFlight) }
        if let expiry { scheduleExpiry(at: expiry) }
        sendNext()
        return await waiter.wait()
    }

    private func scheduleExpiry(at instant: RedisInstant) {
        eventLoop.scheduleTask(deadline: instant.deadline) { self.expire() }
    }

    /// Fails the writes that have waited for too long, and waits for the next one.
    private func expire() {
        let (expired, next): ([Member], RedisInstant?) = state.withLock { state in
            let now = RedisInstant(.now())
            var expired: [Member] = []
            while let oldest = state.waiting.first, oldest.deadline <= now {
                expired.append(state.waiting.removeFirst())
            }
            let next = state.waiting.first?.deadline
            state.isExpiryScheduled = next != nil
            return (expired, next)
        }
        for member in expired { member.waiter.resume(.failure(.notConnected)) }
        if let next { scheduleExpiry(at: next) }
    }

    /// Sends the collected writes unless a `WAIT` is outstanding.
    private func sendNext() {
        let (batch, expired): ([Member], [Member]) = state.withLock { state in
            var batch: [Member] = []
            var expired: [Member] = []
            guard !state.isBusy else { return (batch, expired) }
            let now = RedisInstant(.now())
            var commands = 0
            while let next = state.waiting.first {
                let isExpired = next.deadline <= now
                if isExpired || next.waiter.isResolved {
                    state.waiting.removeFirst()
                    if isExpired { expired.append(next) }
                    continue
                }
                if let first = batch.first {
                    let isJoined = next.durability == first.durability
                    guard isJoined, commands + next.commands.count <= Self.batchMax else { break }
                }
                commands += next.commands.count
                batch.append(state.waiting.removeFirst())
            }
            state.isBusy = !batch.isEmpty
            return (batch, expired)
        }
        for member in expired { member.waiter.resume(.failure(.notConnected)) }
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
