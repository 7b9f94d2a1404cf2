import NIOCore
import Synchronization

/// What callers have left for the event loop of a ``RedisCommandLink``.
///
/// Requests are bounded. Other events always fit: there are at most two for each request or wait
/// that was let in.
struct RedisCommandInbox {
    /// What callers ask of the event loop.
    enum Event {
        case submit(RedisRequest)
        case cancel(RedisRequest)
        case addObserver(RedisWaiter<Void>)
        case removeObserver(RedisWaiter<Void>)
    }

    /// What became of an event.
    enum PostResult {
        /// There is no room.
        case full
        /// The event loop has been asked to look already.
        case added
        /// The event loop must be asked to look.
        case addedFirst
    }

    /// Room made in advance: as many events as gather in one turn of a busy event loop.
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

    /// Empties it.
    mutating func takeAll() -> [Event] {
        let taken = events
        events = []
        events.reserveCapacity(min(taken.count, Self.capacityMax))
        bytes = 0
        isWakeScheduled = false
        return taken
    }
}

/// One call of ``RedisClient``: what to write, how many replies to expect, the waiter for them.
///
/// A class because the caller, the inbox and the event loop refer to the same call.
/// `@unchecked Sendable`: who waits is set before the request is posted, everything mutable is
/// touched on the event loop only from then on.
final class RedisRequest: @unchecked Sendable {
    /// Every reply, or why there is none.
    typealias Outcome = Result<[RedisValue], RedisError>

    /// The commands as RESP.
    let wire: ByteBuffer
    /// How many replies they have.
    let commands: Int
    /// How far it has come; the event loop's.
    var progress = Progress.posted
    /// `nil` once answered.
    private var caller: Caller?

    /// How far a request has come on the event loop.
    enum Progress {
        case posted
        /// Its number in ``RedisPipelineState``.
        case accepted(UInt64)
        /// The caller has left, perhaps before the request was accepted.
        case cancelled
    }

    /// Who is given the outcome.
    private enum Caller {
        case task(CheckedContinuation<Outcome, Never>)
        case function(@Sendable (Outcome) -> Void)
    }

    init(wire: ByteBuffer, commands: Int) {
        self.wire = wire
        self.commands = commands
    }

    /// Called once, before posting.
    func attach(_ continuation: CheckedContinuation<Outcome, Never>) {
        caller = .task(continuation)
    }

    /// Called once, before posting, by a caller that is no task.
    func attach(_ completion: @escaping @Sendable (Outcome) -> Void) {
        caller = .function(completion)
    }

    /// Answers the caller, once.
    func resume(_ outcome: Outcome) {
        switch caller.take() {
        case .task(let continuation): continuation.resume(returning: outcome)
        case .function(let completion): completion(outcome)
        case nil: break
        }
    }
}

/// Somebody who waits for one outcome: of a connect, or of a command.
///
/// A class because the waiter, its timer and the event loop refer to the same wait; whoever comes
/// first decides its outcome.
final class RedisWaiter<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, RedisError>

    /// What the lock guards: the outcome, or who waits for it.
    private struct State {
        var outcome: Outcome?
        var continuation: CheckedContinuation<Outcome, Never>?
    }

    private let state = Mutex(State())

    /// Waits for the outcome; a cancelled task gets ``RedisError/cancelled``.
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

    /// Decides the outcome, unless it is decided.
    func resume(_ outcome: Outcome) {
        let continuation = state.withLock { state in
            guard state.outcome == nil else { return nil as CheckedContinuation<Outcome, Never>? }
            state.outcome = outcome
            return state.continuation.take()
        }
        continuation?.resume(returning: outcome)
    }
}
