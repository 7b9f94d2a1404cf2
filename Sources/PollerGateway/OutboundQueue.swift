import NIOCore
import Synchronization

/// The frames a client has not taken yet, bounded in number and bytes.
///
/// *Problem*: a client that reads slowly, or not at all, must cost neither memory without bound nor
/// the events of others.
/// *Approach*: two ways in. Events wait for room (``put(_:)``): the outbox keeps them meanwhile, so
/// a burst, or a client that catches up, costs no more memory than the bounds. Answers are offered
/// (``offer(_:)``): they are few, so a client that lets them pile up is too slow. The last frames
/// go in whatever the bounds say (``finish(with:discarding:)``), so that a goodbye is always told.
/// Frames count until they have been handed to the socket, that is, until the writer comes back
/// with the next ``take()``: what it holds is within the bounds.
/// *Rejected*: an `AsyncStream` between, whose bound counts elements and not bytes, and which drops
/// what does not fit instead of letting its producer wait.
///
/// Continuations are resumed outside the lock: whoever wakes may come straight back. A class,
/// because many tasks put in and one takes out.
final class OutboundQueue: Sendable {
    private struct State: Sendable {
        var frames: [OutboundFrame] = []
        /// Frames and bytes in the queue and in the writer's hands.
        var count = 0
        var bytes = 0
        /// Of these, what the writer took last and has not come back from.
        var takenCount = 0
        var takenBytes = 0
        var isFinished = false
        /// The writer, when there is nothing to take.
        var taker: CheckedContinuation<Void, Never>?
        /// Those who wait for room, by a number of their own so that a cancelled one is found.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0

        mutating func append(_ frame: OutboundFrame) -> CheckedContinuation<Void, Never>? {
            frames.append(frame)
            count += 1
            bytes += frame.bytes
            defer { taker = nil }
            return taker
        }
    }

    private let countMax: Int
    private let bytesMax: Int
    private let state = Mutex(State())

    /// A queue of at most `limits.queueMessagesMax` frames and `limits.queueBytesMax` bytes; one
    /// frame always fits into an empty one.
    init(_ limits: GatewayLimits) {
        countMax = limits.queueMessagesMax
        bytesMax = limits.queueBytesMax
    }

    /// Puts a frame in; false when there is no room.
    func offer(_ frame: OutboundFrame) -> Bool {
        let (isIn, taker) = state.withLock { state in
            guard !state.isFinished else { return (true, nil as CheckedContinuation<Void, Never>?) }
            guard hasRoom(state) else { return (false, nil) }
            return (true, state.append(frame))
        }
        taker?.resume()
        return isIn
    }

    /// Puts a frame in when there is room; false when the queue has ended or the task is
    /// cancelled before.
    func put(_ frame: OutboundFrame) async -> Bool {
        /// What became of one try to put a message into the queue.
        enum Outcome {
            case done(CheckedContinuation<Void, Never>?)
            case full
            case over
        }
        while !Task.isCancelled {
            let outcome: Outcome = state.withLock { state in
                if state.isFinished { return .over }
                return hasRoom(state) ? .done(state.append(frame)) : .full
            }
            switch outcome {
            case .over: return false
            case .done(let taker):
                taker?.resume()
                return true
            case .full: await waitForRoom()
            }
        }
        return false
    }

    /// Puts the last frames in, whatever the limits say, and ends the queue.
    ///
    /// `discarding` drops what is in it first.
    func finish(with frames: [OutboundFrame], discarding: Bool) {
        let woken = state.withLock { state in
            guard !state.isFinished else { return [CheckedContinuation<Void, Never>]() }
            state.isFinished = true
            if discarding { state.frames = [] }
            state.frames += frames
            defer { (state.taker, state.waiters) = (nil, [:]) }
            return Array(state.waiters.values) + [state.taker].compactMap(\.self)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Everything that is in the queue, once there is something; nil when it has ended.
    ///
    /// What was taken before counts as handed over. One taker.
    func take() async -> [OutboundFrame]? {
        while true {
            let (frames, waiters) = state.withLock { state in
                state.count -= state.takenCount
                state.bytes -= state.takenBytes
                state.takenCount = state.frames.count
                state.takenBytes = state.frames.reduce(0) { $0 + $1.bytes }
                defer { (state.frames, state.waiters) = ([], [:]) }
                return (state.frames, state.waiters.values)
            }
            for waiter in waiters { waiter.resume() }
            if !frames.isEmpty { return frames }
            let isOver = await waitForFrame()
            if isOver { return nil }
        }
    }

    /// A frame larger than all bytes allowed still fits into an empty queue, or it never would.
    private func hasRoom(_ state: State) -> Bool {
        state.count < countMax && (state.bytes < bytesMax || state.count == 0)
    }

    /// Returns when there may be room: whoever was woken with others looks again.
    private func waitForRoom() async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isNow = state.withLock { state in
                    // A cancellation before this line found nobody to wake.
                    if state.isFinished || hasRoom(state) || Task.isCancelled { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isNow { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    /// True when the queue has ended and is empty.
    private func waitForFrame() async -> Bool {
        await withCheckedContinuation { continuation in
            let isNow = state.withLock { state in
                if state.isFinished || !state.frames.isEmpty { return true }
                state.taker = continuation
                return false
            }
            if isNow { continuation.resume() }
        }
        return state.withLock { $0.isFinished && $0.frames.isEmpty }
    }
}

/// A frame on its way to a client.
enum OutboundFrame: Hashable, Sendable {
    case text(String)
    case ping
    /// Answers a ping with its own bytes.
    case pong(ByteBuffer)
    case close(CloseCode, reason: String)

    /// What it counts for in a queue.
    var bytes: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .pong(let data): data.readableBytes
        case .ping, .close: 0
        }
    }
}

/// Why the gateway ends a connection: 4000–4099 do not reconnect as you are, 4100–4199 reconnect
/// with your cursor after a random wait, 4200 there is nothing more to come.
enum CloseCode: Int, Hashable, Sendable {
    /// A frame that breaks RFC 6455.
    case protocolError = 1002
    /// A text that is not UTF-8.
    case notText = 1007
    /// A frame that is no message of the protocol.
    case badMessage = 4000
    /// No credentials within 5 s.
    case authTimeout = 4001
    /// Unknown credentials, or a message before any.
    case forbidden = 4003
    /// More subscriptions than a connection may have.
    case tooManySubscriptions = 4009
    /// More connections than these credentials may have.
    case tooManyConnections = 4010
    /// The store cannot be reached.
    case unavailable = 4100
    /// This process is shutting down; another takes over.
    case draining = 4101
    /// The connection is old; a new one may find a less busy process.
    case rotated = 4102
    /// The credentials have run out.
    case tokenExpired = 4105
    /// The client reads slower than events come.
    case slowConsumer = 4108
    /// More messages than a client may send.
    case rateLimited = 4129
    /// Every source that was asked for is settled.
    case settled = 4200

    /// The waits, in ms, among which a client picks at random before it comes back; nil when it
    /// should not.
    var retryMs: ClosedRange<Int>? {
        (4100..<4200).contains(rawValue) ? 500...8000 : nil
    }
}
