import NIOCore

/// The life of one connection that is kept alive, without its traffic and without I/O.
///
/// ```
/// idle ─start─▶ locating ─found─▶ connecting ──opened──▶ loggingIn ─last reply─▶ ready ─drain─▶ draining
///                 ▲  │                │                       │                     │               │
///               retry└─────────────── lost ───────────────────┴─────────────────────┴───────────────┘
///                 │                   │
///              backingOff ◀───────────┴──── stopping? ───▶ finished
/// ```
/// The caller does the I/O that the returned actions ask for and reports what happened. What a state
/// needs stands in its case: there is a `Socket` exactly while one is opened or open, and somebody
/// who uses the link (`Context`) from its start to its end; the state looks at neither.
struct RedisLinkState<Context, Socket> {
    /// What to do after a reply of the handshake.
    enum Login: Hashable {
        case wait
        case ready
        case fail(RedisLinkFailure)
    }

    /// What to do after a connection is gone.
    enum AfterLoss: Hashable {
        case reconnect(after: Duration, attempt: Int)
        case finish
        /// It is of no interest any more.
        case nothing
    }

    /// What to do to stop.
    enum Stop: Hashable {
        /// Nothing is connected: finished.
        case finish
        /// Close once every written command is answered.
        case drain
        /// Close now, then report the loss.
        case close
        /// Already finished, or draining.
        case nothing
    }

    /// How far the connection has come.
    private enum State {
        case idle
        /// Asks which server to connect to.
        case locating(Context)
        case connecting(Context, Socket)
        /// Waits for the reply to the handshake's step of this index.
        case loggingIn(Context, Socket, step: Int)
        case ready(Context, Socket, since: RedisInstant)
        /// Answers to written commands are awaited, nothing new is written; then it closes for the
        /// reason given.
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

    // MARK: What there is

    /// Who uses the link, from its start to its end.
    var context: Context? {
        switch state {
        case .idle, .finished: nil
        case .locating(let context), .backingOff(let context), .connecting(let context, _),
            .loggingIn(let context, _, _), .ready(let context, _, _),
            .draining(let context, _, _, _):
            context
        }
    }

    /// The socket that is being opened, or open.
    var socket: Socket? {
        switch state {
        case .idle, .locating, .backingOff, .finished: nil
        case .connecting(_, let socket), .loggingIn(_, let socket, _),
            .ready(_, let socket, _), .draining(_, let socket, _, _):
            socket
        }
    }

    /// Who uses a connection that is logged in: all replies are theirs.
    var readyContext: Context? {
        switch state {
        case .ready(let context, _, _), .draining(let context, _, _, _): context
        default: nil
        }
    }

    /// Whether commands may be written.
    var isReady: Bool { if case .ready = state { true } else { false } }

    /// Whether the server to connect to is being asked for.
    var isLocating: Bool { if case .locating = state { true } else { false } }

    /// Whether the socket is being opened.
    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    /// Why the connection closes once written commands are answered; nil while it does not.
    var drainFailure: RedisLinkFailure? {
        if case .draining(_, _, _, let failure) = state { failure } else { nil }
    }

    // MARK: What happens

    /// Starts; `true` means: find the server.
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

    /// The socket is connected; returns what to write, or `nil` to close it, because it is no
    /// longer wanted.
    mutating func opened() -> [RedisCommand]? {
        guard case .connecting(let context, let socket) = state else { return nil }
        state = .loggingIn(context, socket, step: 0)
        return handshake.commands
    }

    /// A reply came before the connection was ready.
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

    /// Lets written commands be answered and then replaces the connection.
    mutating func drain(_ failure: RedisLinkFailure) {
        guard case .ready(let context, let socket, let since) = state else { return }
        state = .draining(context, socket, since: since, failure)
    }

    /// The connection broke, was closed, or never came about.
    ///
    /// The delays start over only after a connection held for ``RedisBackoff/cap``: a server that
    /// accepts and then drops everybody is not hammered.
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

    /// The delay is over; `true` means: find the server.
    mutating func retry() -> Bool {
        guard case .backingOff(let context) = state else { return false }
        state = .locating(context)
        return true
    }

    /// Stops for good, after the written commands are answered if `graceful`.
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

/// Reconnection delays: exponential with full jitter, for ever.
///
/// The delay before attempt *n* (from 1) is uniform in 0 … min(cap, base · 2ⁿ⁻¹). With the defaults
/// the upper bounds are 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, … ms. Full jitter spreads a
/// thousand clients that lost the same server best (Brooker, "Exponential Backoff And Jitter").
struct RedisBackoff: Hashable {
    let base: Duration
    let cap: Duration

    /// The longest delay that may precede an attempt.
    func ceiling(attempt: Int) -> Duration {
        // 2³⁰ times any sensible base is beyond any cap; more would overflow.
        min(cap, base * (1 << min(max(attempt - 1, 0), 30)))
    }

    /// The delay before an attempt.
    func delay(attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        ceiling(attempt: attempt) * Double.random(in: 0...1, using: &random)
    }
}

/// A point on the event loop's monotonic clock; the state machines get it as an argument.
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
