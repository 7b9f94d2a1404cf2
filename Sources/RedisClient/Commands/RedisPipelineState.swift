import DequeModule
import NIOCore

/// The commands of one connection: which wait, which are written, whose reply comes next.
///
/// RESP2 replies carry no identity; the n-th reply belongs to the n-th command written. The rule
/// that keeps replies from being mis-assigned is therefore: *a written command keeps its slot until
/// its replies have arrived or the connection is gone*. A caller that times out or is cancelled
/// leaves; its slot stays behind as *abandoned* and swallows its replies. Commands that were never
/// written wait for the next connection; written ones are never written again.
///
/// Requests come in the order of their deadlines, as all have the same timeout. `Waiter` is who gets
/// the outcome; the state never looks at it. No I/O, no clock.
struct RedisPipelineState<Waiter> {
    /// A waiter and what it shall learn.
    typealias Failure = (waiter: Waiter, error: RedisError)

    /// What a reply means.
    enum Reply {
        /// The request needs more replies, or nobody waits for it any more.
        case accepted
        /// A request has all its replies.
        case complete(Waiter, [RedisValue])
        /// Nothing was asked: the connection cannot be trusted.
        case unexpected
    }

    /// What time has brought about.
    struct Expiry {
        var failures: [Failure] = []
        /// The oldest reply is so late that the connection must be replaced.
        var isStalled = false
    }

    /// One command in the pipeline.
    private struct Slot {
        let id: UInt64
        /// `nil` once abandoned.
        var waiter: Waiter?
        /// Empty once written.
        var wire: ByteBuffer
        let bytes: Int
        var repliesMissing: Int
        var replies: [RedisValue] = []
        let deadline: RedisInstant
        var writtenAt: RedisInstant
    }

    private let commandsMax: Int
    private let bytesMax: Int
    private let timeout: Duration
    private var waiting = Deque<Slot>()
    private var written = Deque<Slot>()
    private var nextID: UInt64 = 0
    /// Commands without a reply, waiting and abandoned ones included.
    private(set) var commands = 0
    /// Bytes of those commands.
    private(set) var bytes = 0

    init(commandsMax: Int, bytesMax: Int, timeout: Duration) {
        self.commandsMax = commandsMax
        self.bytesMax = bytesMax
        self.timeout = timeout
    }

    /// Whether a request waits to be written.
    var hasWaiting: Bool { !waiting.isEmpty }
    /// Whether a reply is outstanding.
    var hasWritten: Bool { !written.isEmpty }

    /// Accepts a request of one or more commands and returns its number, or `nil` when full.
    mutating func submit(
        _ waiter: Waiter,
        wire: ByteBuffer,
        commands count: Int,
        now: RedisInstant
    ) -> UInt64? {
        let size = wire.readableBytes
        guard count <= commandsMax - commands, size <= bytesMax - bytes else { return nil }
        commands += count
        bytes += size
        nextID += 1
        waiting.append(
            Slot(
                id: nextID,
                waiter: waiter,
                wire: wire,
                bytes: size,
                repliesMissing: count,
                deadline: now + timeout,
                writtenAt: now
            )
        )
        return nextID
    }

    /// Moves waiting requests to `buffer`, in order, until it holds `bytesMax` or none is left.
    mutating func write(into buffer: inout ByteBuffer, bytesMax: Int, now: RedisInstant) {
        while buffer.readableBytes < bytesMax, var slot = waiting.popFirst() {
            guard slot.waiter != nil else {
                release(slot)
                continue
            }
            buffer.writeBuffer(&slot.wire)
            slot.wire = ByteBuffer()
            slot.writtenAt = now
            written.append(slot)
        }
    }

    /// Gives the next reply to the oldest written request.
    mutating func receive(_ reply: RedisValue) -> Reply {
        guard var slot = written.popFirst() else { return .unexpected }
        slot.repliesMissing -= 1
        commands -= 1
        if slot.waiter != nil { slot.replies.append(reply) }
        guard slot.repliesMissing == 0 else {
            written.prepend(slot)
            return .accepted
        }
        bytes -= slot.bytes
        guard let waiter = slot.waiter else { return .accepted }
        return .complete(waiter, slot.replies)
    }

    /// Abandons a request; returns its waiter if it still had one.
    mutating func cancel(_ id: UInt64) -> Waiter? {
        if let index = Self.index(of: id, in: waiting) {
            // The slot stays until its turn or its deadline: removing it here would make cancelling
            // n requests cost n² moves.
            waiting[index].wire = ByteBuffer()
            return Self.abandon(&waiting[index])
        }
        guard let index = Self.index(of: id, in: written) else { return nil }
        return Self.abandon(&written[index])
    }

    /// Fails what is due: waiting requests as never sent, written ones as timed out.
    mutating func expire(now: RedisInstant) -> Expiry {
        var expiry = Expiry()
        while let slot = waiting.first, slot.deadline <= now {
            waiting.removeFirst()
            release(slot)
            if let waiter = slot.waiter { expiry.failures.append((waiter, .notConnected)) }
        }
        for index in written.indices {
            guard written[index].deadline <= now else { break }
            if let waiter = Self.abandon(&written[index]) {
                expiry.failures.append((waiter, .timedOut))
            }
        }
        if let oldest = written.first { expiry.isStalled = isStalled(oldest, now) }
        return expiry
    }

    /// When ``expire(now:)`` should be called next; `nil` while nothing is outstanding.
    var nextExpiry: RedisInstant? {
        let next = [
            waiting.first?.deadline,
            written.first { $0.waiter != nil }?.deadline,
            written.first.map { $0.writtenAt + timeout * 2 },
        ]
        return next.compactMap(\.self).min()
    }

    /// Fails every written request; `first` is what the oldest learns, if it is special.
    mutating func connectionLost(first: RedisError?) -> [Failure] {
        var failures: [Failure] = []
        var error = first
        while let slot = written.popFirst() {
            release(slot)
            if let waiter = slot.waiter {
                failures.append((waiter, error ?? .connectionLost(maybeExecuted: true)))
            }
            error = nil
        }
        return failures
    }

    /// Fails every request that waits: the client is shut down.
    mutating func close() -> [Failure] {
        var failures: [Failure] = []
        while let slot = waiting.popFirst() {
            release(slot)
            if let waiter = slot.waiter { failures.append((waiter, .closed)) }
        }
        return failures
    }

    /// A reply that is overdue by the timeout again will not come: the peer is dead.
    private func isStalled(_ slot: Slot, _ now: RedisInstant) -> Bool {
        slot.writtenAt + timeout * 2 <= now
    }

    private mutating func release(_ slot: Slot) {
        commands -= slot.repliesMissing
        bytes -= slot.bytes
    }

    private static func abandon(_ slot: inout Slot) -> Waiter? {
        let waiter = slot.waiter
        slot.waiter = nil
        slot.replies = []
        return waiter
    }

    /// Finds a request by bisection: numbers only grow towards the end.
    private static func index(of id: UInt64, in slots: Deque<Slot>) -> Int? {
        var low = 0
        var high = slots.count
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < slots.count && slots[low].id == id ? low : nil
    }
}
