import NIOCore
import Synchronization

/// The events that callers have posted to the event loop of a ``RedisCommandLink``.
///
/// Requests are bounded. Other events are always accepted: there are at most two for each accepted
/// request or wait.
struct RedisCommandInbox {
    /// An event for the event loop.
    enum Event {
        case submit(RedisRequest)
        case cancel(RedisRequest)
        case addObserver(RedisWaiter<Void>)
        case removeObserver(RedisWaiter<Void>)
    }

    /// The result of adding an event.
    enum PostResult {
        /// There is no room.
        case full
        /// Added; the event loop is already scheduled.
        case added
        /// Added as the first event; the event loop must be scheduled.
        case addedFirst
    }

    /// The reserved capacity: about as many events as arrive during one iteration of a busy event
    /// loop.
    private static let capacityMax = 256

    private let commandsMax: Int
    private let bytesMax: Int
    private var events: [Event] = []
    private var bytes = 0
    private var isWakeScheduled = false

    init(commandsMax: Int, bytesMax: Int) {
        self.commandsMax = commandsMax
        self.bytesMax = bytesMax
    }

    /// Adds an event.
    mutating func append(_ event: Event) -> PostResult {
        if case .submit(let request) = event {
            let size = request.wire.readableBytes
            guard events.count < commandsMax, bytes + size <= bytesMax else { return .full }
            bytes += size
        }
        events.append(event)
        if isWakeScheduled { return .added }
        isWakeScheduled = true
        return .addedFirst
    }

    /// Removes and returns all events.
    mutating func takeAll() -> [Event] {
        let taken = events
        events = []
        events.reserveCapacity(min(taken.count, Self.capacityMax))
        bytes = 0
        isWakeScheduled = false
        return taken
    }
}

/// One call of ``RedisClient``: the bytes to write, the number of expected replies, and the waiting
/// caller.
///
/// A class because the caller, the inbox and the event loop refer to the same call. `@unchecked
/// Sendable`: the caller is set before the request is posted. After that, mutable state is accessed
/// on the event loop only.
final class RedisRequest: @unchecked Sendable {
    /// Every reply, or the reason why there is none.
    typealias Outcome = Result<[RedisValue], RedisError>

    /// The commands as RESP.
    let wire: ByteBuffer
    /// The number of commands, and so of replies.
    let commands: Int
    /// The progress of the request; accessed on the event loop only.
    var progress = Progress.posted
    /// `nil` once the outcome was delivered.
    private var caller: Caller?

    /// The progress of a request on the event loop.
    enum Progress {
        case posted
        /// Accepted under this number in ``RedisPipelineState``.
        case accepted(UInt64)
        /// The caller has cancelled, perhaps before the request was accepted.
        case cancelled
    }

    /// The receiver of the outcome.
    private enum Caller {
        case task(CheckedContinuation<Outcome, Never>)
        case function(@Sendable (Outcome) -> Void)
    }

    init(wire: ByteBuffer, commands: Int) {
        self.wire = wire
        self.commands = commands
    }

    /// Sets the waiting task; called once, before posting.
    func attach(_ continuation: CheckedContinuation<Outcome, Never>) {
        caller = .task(continuation)
    }

    /// Sets a completion handler for a caller that is not a task; called once, before posting.
    func attach(_ completion: @escaping @Sendable (Outcome) -> Void) {
        caller = .function(completion)
    }

    /// Delivers the outcome to the caller, once.
    func resume(_ outcome: Outcome) {
        switch caller.take() {
        case .task(let continuation): continuation.resume(returning: outcome)
        case .function(let completion): completion(outcome)
        case nil: break
        }
    }
}

/// A wait for one outcome: of a connection attempt or of a command.
///
/// A class because the waiting task, its timer and the event loop refer to the same wait. The first
/// of them decides its outcome.
final class RedisWaiter<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, RedisError>

    /// The state behind the lock: the outcome, or the task that waits for it.
    private struct State {
        var outcome: Outcome?
        var continuation: CheckedContinuation<Outcome, Never>?
    }

    private let state = Mutex(State())

    /// Waits for the outcome.
    ///
    /// A cancelled task gets ``RedisError/cancelled``.
    func wait() async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state in
                    if state.outcome == nil { state.continuation = continuation }
                    return state.outcome
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            resume(.failure(.cancelled))
        }
    }

    /// Waits for the outcome, at most `timeout`; then it is ``RedisError/notConnected``.
    func wait(timeout: Duration, on eventLoop: any EventLoop) async -> Outcome {
        let timer = eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            self.resume(.failure(.notConnected))
        }
        defer { timer.cancel() }
        return await wait()
    }

    /// Whether the outcome is set.
    var isResolved: Bool { state.withLock { $0.outcome != nil } }

    /// Sets the outcome unless it is already set.
    func resume(_ outcome: Outcome) {
        let continuation = state.withLock { state in
            guard state.outcome == nil else { return nil as CheckedContinuation<Outcome, Never>? }
            state.outcome = outcome
            return state.continuation.take()
        }
        continuation?.resume(returning: outcome)
    }
}
