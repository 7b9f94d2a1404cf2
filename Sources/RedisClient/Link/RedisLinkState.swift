import NIOCore

/// The state machine of one connection that is kept open, without traffic and I/O.
///
/// ```
/// idle ─start─▶ locating ─found─▶ connecting ──opened──▶ loggingIn ─last reply─▶ ready ─drain─▶ draining
///                 ▲  │                │                       │                     │               │
///               retry└─────────────── lost ───────────────────┴─────────────────────┴───────────────┘
///                 │                   │
///              backingOff ◀───────────┴──── stopping? ───▶ finished
/// ```
///
/// The caller performs the returned actions and reports what happened. Each case holds the values
/// that its state needs. A `Socket` exists only while one is being opened or is open. A `Context`,
/// the user of the link, exists from start to end. The state machine inspects neither.
struct RedisLinkState<Context, Socket> {
    /// The action after a handshake reply.
    enum Login: Hashable {
        case wait
        case ready
        case fail(RedisLinkFailure)
    }

    /// The action after a connection was lost.
    enum AfterLoss: Hashable {
        case reconnect(after: Duration, attempt: Int)
        case finish
        /// The connection is not needed any more.
        case nothing
    }

    /// The action that stops the link.
    enum Stop: Hashable {
        /// Nothing is connected: finished.
        case finish
        /// Close once every written command has its reply.
        case drain
        /// Close now, then report the loss.
        case close
        /// Already finished or draining.
        case nothing
    }

    /// The progress of the connection.
    private enum State {
        case idle
        /// Finding the server to connect to.
        case locating(Context)
        case connecting(Context, Socket)
        /// Waiting for the reply to the handshake step of this index.
        case loggingIn(Context, Socket, step: Int)
        case ready(Context, Socket, since: RedisInstant)
        /// Waiting for the replies to written commands. Nothing new is written. Then the connection
        /// closes with the given failure.
        case draining(Context, Socket, since: RedisInstant, RedisLinkFailure)
        case backingOff(Context)
        case finished
    }

    private var state = State.idle
    /// Attempts since a connection last held for ``RedisBackoff/cap``.
    private(set) var attempt = 0
    private let handshake: RedisHandshake
    private let backoff: RedisBackoff
    private var isStopping = false

    init(handshake: RedisHandshake, backoff: RedisBackoff) {
        self.handshake = handshake
        self.backoff = backoff
    }

    // MARK: Properties

    /// The user of the link, from start to end.
    var context: Context? {
        switch state {
        case .idle, .finished: nil
        case .locating(let context), .backingOff(let context), .connecting(let context, _),
            .loggingIn(let context, _, _), .ready(let context, _, _),
            .draining(let context, _, _, _):
            context
        }
    }

    /// The socket that is open or being opened.
    var socket: Socket? {
        switch state {
        case .idle, .locating, .backingOff, .finished: nil
        case .connecting(_, let socket), .loggingIn(_, let socket, _),
            .ready(_, let socket, _), .draining(_, let socket, _, _):
            socket
        }
    }

    /// The user of a logged-in connection, who receives all its replies.
    var readyContext: Context? {
        switch state {
        case .ready(let context, _, _), .draining(let context, _, _, _): context
        default: nil
        }
    }

    /// Whether commands may be written.
    var isReady: Bool { if case .ready = state { true } else { false } }

    /// Whether the server to connect to is being located.
    var isLocating: Bool { if case .locating = state { true } else { false } }

    /// Whether the socket is being opened.
    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    /// The reason why the connection is draining; `nil` otherwise.
    var drainFailure: RedisLinkFailure? {
        if case .draining(_, _, _, let failure) = state { failure } else { nil }
    }

    // MARK: Events

    /// Starts.
    ///
    /// Returns `true` if the server must be located.
    mutating func start(_ context: Context) -> Bool {
        guard case .idle = state else { return false }
        state = .locating(context)
        return true
    }

    /// The server is found, and `socket` is being opened.
    mutating func found(_ socket: Socket) {
        guard case .locating(let context) = state else { return }
        state = .connecting(context, socket)
    }

    /// The socket is connected.
    ///
    /// Returns the commands to write, or `nil` if it must be closed because it is not needed any
    /// more.
    mutating func opened() -> [RedisCommand]? {
        guard case .connecting(let context, let socket) = state else { return nil }
        state = .loggingIn(context, socket, step: 0)
        return handshake.commands
    }

    /// A reply arrived before the connection was ready.
    mutating func receiveLogin(_ reply: RedisValue, now: RedisInstant) -> Login {
        guard case .loggingIn(let context, let socket, let step) = state else { return .wait }
        if let failure = handshake.failure(of: reply, at: step) { return .fail(failure) }
        guard step + 1 == handshake.count else {
            state = .loggingIn(context, socket, step: step + 1)
            return .wait
        }
        state = .ready(context, socket, since: now)
        return .ready
    }

    /// Waits for the replies to written commands and then replaces the connection.
    mutating func drain(_ failure: RedisLinkFailure) {
        guard case .ready(let context, let socket, let since) = state else { return }
        state = .draining(context, socket, since: since, failure)
    }

    /// The connection broke, was closed, or could not be made.
    ///
    /// The delays are reset only after a connection held for ``RedisBackoff/cap``. This limits the
    /// load on a server that accepts and then drops every connection.
    mutating func lost(
        now: RedisInstant,
        using random: inout some RandomNumberGenerator
    ) -> AfterLoss {
        let current: Context
        switch state {
        case .idle, .backingOff, .finished: return .nothing
        case .locating(let context), .connecting(let context, _), .loggingIn(let context, _, _):
            current = context
        case .ready(let context, _, let since), .draining(let context, _, let since, _):
            current = context
            if since + backoff.cap <= now { attempt = 0 }
        }
        if isStopping {
            state = .finished
            return .finish
        }
        state = .backingOff(current)
        attempt += 1
        return .reconnect(after: backoff.delay(attempt: attempt, using: &random), attempt: attempt)
    }

    /// The delay is over.
    ///
    /// Returns `true` if the server must be located.
    mutating func retry() -> Bool {
        guard case .backingOff(let context) = state else { return false }
        state = .locating(context)
        return true
    }

    /// Stops permanently; if `graceful`, after written commands have their replies.
    mutating func stop(graceful: Bool) -> Stop {
        let wasStopping = isStopping
        isStopping = true
        switch state {
        case .idle, .backingOff, .locating, .connecting:
            state = .finished
            return .finish
        case .loggingIn: return .close
        case .ready where graceful:
            drain(.shutDown)
            return .drain
        case .ready: return .close
        case .draining: return graceful ? (wasStopping ? .nothing : .drain) : .close
        case .finished: return .nothing
        }
    }
}

/// Reconnection delays: exponential with full jitter, without end.
///
/// The delay before attempt *n* (from 1) is uniform in 0 … min(cap, base · 2ⁿ⁻¹). With the defaults
/// the upper bounds are 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, … ms. Full jitter spreads a
/// thousand clients that lost the same server best (Brooker, "Exponential Backoff And Jitter").
struct RedisBackoff: Hashable {
    let base: Duration
    let cap: Duration

    /// The longest delay before an attempt.
    func ceiling(attempt: Int) -> Duration {
        // 2³⁰ times any sensible base exceeds any cap; more would overflow.
        min(cap, base * (1 << min(max(attempt - 1, 0), 30)))
    }

    /// The random delay before an attempt.
    func delay(attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        ceiling(attempt: attempt) * Double.random(in: 0...1, using: &random)
    }
}

/// A point on the event loop's monotonic clock, passed to the state machines.
struct RedisInstant: Hashable, Comparable {
    /// Nanoseconds since an arbitrary origin.
    let uptimeNs: UInt64

    init(uptimeNs: UInt64) {
        self.uptimeNs = uptimeNs
    }

    init(_ deadline: NIODeadline) {
        self.uptimeNs = deadline.uptimeNanoseconds
    }

    /// The same point for NIO.
    var deadline: NIODeadline { .uptimeNanoseconds(uptimeNs) }

    static func < (left: RedisInstant, right: RedisInstant) -> Bool {
        left.uptimeNs < right.uptimeNs
    }

    static func + (instant: RedisInstant, span: Duration) -> RedisInstant {
        let spanNs = UInt64(clamping: TimeAmount(span).nanoseconds)
        let (sum, overflow) = instant.uptimeNs.addingReportingOverflow(spanNs)
        return RedisInstant(uptimeNs: overflow ? .max : sum)
    }
}
