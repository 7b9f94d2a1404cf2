import DequeModule
import NIOCore

/// The commands of one connection: the waiting ones, the written ones, and the assignment of
/// replies.
///
/// RESP2 replies carry no identity; the n-th reply belongs to the n-th written command. Hence the
/// rule that prevents mis-assigned replies: *a written command keeps its slot until its replies
/// have arrived or the connection is lost*. A caller that times out or is cancelled leaves. Its
/// slot remains as *abandoned* and consumes its replies. Commands that were never written wait for
/// the next connection; written ones are never written again.
///
/// Requests arrive in the order of their deadlines, because all have the same timeout. A `Waiter`
/// receives the outcome; the state machine never inspects it. No I/O, no clock.
struct RedisPipelineState<Waiter> {
    typealias Failure = (waiter: Waiter, error: RedisError)

    /// The meaning of a reply.
    enum Reply {
        /// The request needs more replies, or it was abandoned.
        case accepted
        /// A request has all its replies.
        case complete(Waiter, [RedisValue])
        /// No command was outstanding: the connection cannot be trusted.
        case unexpected
    }

    /// The result of checking deadlines.
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
    /// Commands without a reply, including waiting and abandoned ones.
    private(set) var commands = 0
    /// The bytes of those commands.
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

    /// Assigns the next reply to the oldest written request.
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
            // The slot stays until it is reached or expires: removing it here would make cancelling
            // n requests cost n² moves.
            waiting[index].wire = ByteBuffer()
            return Self.abandon(&waiting[index])
        }
        guard let index = Self.index(of: id, in: written) else { return nil }
        return Self.abandon(&written[index])
    }

    /// Fails expired requests: waiting ones as never sent, written ones as timed out.
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

    /// Fails every written request.
    ///
    /// `first` is the error of the oldest one, if it differs.
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

    /// Fails every waiting request, because the client is shut down.
    mutating func close() -> [Failure] {
        var failures: [Failure] = []
        while let slot = waiting.popFirst() {
            release(slot)
            if let waiter = slot.waiter { failures.append((waiter, .closed)) }
        }
        return failures
    }

    /// Whether a reply is overdue by another timeout: then it will not arrive, and the peer is
    /// dead.
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

    /// Finds a request by binary search: numbers only increase towards the end.
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
