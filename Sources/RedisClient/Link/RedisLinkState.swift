import NIOCore

/// The life of one connection that is kept alive, without its traffic and without I/O.
///
/// ```
/// idle ─start─▶ connecting ─connected─▶ loggingIn ─last reply─▶ ready ─drain─▶ draining
///                 ▲   │                     │                     │               │
///               retry └────────────────── lost ──────────────────┴───────────────┘
///                 │                         │
///              backingOff ◀─────────────────┴──── stopping? ───▶ finished
/// ```
/// The caller does the I/O that the returned actions ask for and reports what happened.
struct RedisLinkState {
    /// How far the connection has come.
    enum Phase: Hashable {
        case idle
        case connecting
        /// Waits for the reply to the handshake's step of this index.
        case loggingIn(Int)
        case ready
        /// Answers to written commands are awaited, nothing new is written; then it closes.
        case draining
        case backingOff
        case finished
    }

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

    private(set) var phase = Phase.idle
    /// Attempts since a connection last held for ``RedisBackoff/cap``.
    private(set) var attempt = 0
    private let handshake: RedisHandshake
    private let backoff: RedisBackoff
    private var readyAt: RedisInstant?
    private var isStopping = false

    init(handshake: RedisHandshake, backoff: RedisBackoff) {
        self.handshake = handshake
        self.backoff = backoff
    }

    /// Whether commands may be written.
    var isReady: Bool { phase == .ready }

    /// Starts; `true` means: connect.
    mutating func start() -> Bool {
        guard phase == .idle else { return false }
        phase = .connecting
        return true
    }

    /// The socket is connected; returns what to write, or `nil` to close it, because it is no
    /// longer wanted.
    mutating func connected() -> [RedisCommand]? {
        guard phase == .connecting else { return nil }
        phase = .loggingIn(0)
        return handshake.commands
    }

    /// A reply came before the connection was ready.
    mutating func receiveLogin(_ reply: RedisValue, now: RedisInstant) -> Login {
        guard case .loggingIn(let index) = phase else { return .wait }
        if let failure = handshake.failure(of: reply, at: index) { return .fail(failure) }
        guard index + 1 == handshake.count else {
            phase = .loggingIn(index + 1)
            return .wait
        }
        phase = .ready
        readyAt = now
        return .ready
    }

    /// Lets written commands be answered and then replaces the connection.
    mutating func drain() {
        if phase == .ready { phase = .draining }
    }

    /// The connection broke, was closed, or never came about.
    ///
    /// The delays start over only after a connection held for ``RedisBackoff/cap``: a server that
    /// accepts and then drops everybody is not hammered.
    mutating func lost(
        now: RedisInstant,
        using random: inout some RandomNumberGenerator
    ) -> AfterLoss {
        switch phase {
        case .idle, .backingOff, .finished: return .nothing
        case .connecting, .loggingIn, .ready, .draining: break
        }
        if let readyAt, readyAt + backoff.cap <= now { attempt = 0 }
        readyAt = nil
        if isStopping {
            phase = .finished
            return .finish
        }
        phase = .backingOff
        attempt += 1
        return .reconnect(after: backoff.delay(attempt: attempt, using: &random), attempt: attempt)
    }

    /// The delay is over; `true` means: connect.
    mutating func retry() -> Bool {
        guard phase == .backingOff else { return false }
        phase = .connecting
        return true
    }

    /// Stops for good, after the written commands are answered if `graceful`.
    mutating func stop(graceful: Bool) -> Stop {
        let wasStopping = isStopping
        isStopping = true
        switch phase {
        case .idle, .backingOff, .connecting:
            phase = .finished
            return .finish
        case .loggingIn: return .close
        case .ready where graceful:
            phase = .draining
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
        let spanNs = UInt64(max(0, TimeAmount(span).nanoseconds))
        let (sum, overflow) = instant.uptimeNs.addingReportingOverflow(spanNs)
        return RedisInstant(uptimeNs: overflow ? .max : sum)
    }
}
