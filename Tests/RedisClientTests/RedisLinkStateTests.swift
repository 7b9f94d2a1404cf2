import PollerTesting
import Testing

@testable import RedisClient

@Suite struct RedisLinkStateTests {
    private let start = RedisInstant(uptimeNs: 1_000_000_000)
    private var random = SeededGenerator(seed: 1)

    private typealias LinkState = RedisLinkState<Void, Void>

    private func state(_ url: String = "redis://h") throws -> LinkState {
        LinkState(
            handshake: try handshake(url),
            backoff: RedisBackoff(base: .milliseconds(50), cap: .seconds(5))
        )
    }

    private func handshake(_ text: String, _ clientName: String? = nil) throws -> RedisHandshake {
        let url = try RedisURL(text)
        return RedisHandshake(login: url.login, database: url.database, clientName: clientName)
    }

    /// A link that has been ready since `start`.
    private func ready() throws -> LinkState {
        var state = try state()
        #expect(state.start() == true)
        #expect(state.connected()?.map(\.name) == ["PING"])
        #expect(state.receiveLogin(.simpleString("PONG"), now: start) == .ready)
        return state
    }

    @Test("the handshake sends only needed commands, and always PING")
    func handshake() throws {
        let plain = try handshake("redis://h")
        #expect(plain.commands == [RedisCommand("PING")])
        let full = try handshake("redis://u:p@h/3", "w1")
        #expect(
            full.commands == [
                RedisCommand("AUTH", ["u", "p"]), RedisCommand("SELECT", [3]),
                RedisCommand("CLIENT", ["SETNAME", "w1"]), RedisCommand("PING"),
            ]
        )
        let legacy = try handshake("redis://:p@h")
        #expect(legacy.commands.first == RedisCommand("AUTH", ["p"]))
    }

    @Test("a rejected login has a remedy; a rejected name or PING is ignored")
    func judgement() throws {
        let handshake = try handshake("redis://u:p@h/3", "w1")
        func failure(_ line: String, _ index: Int) -> RedisLinkFailure? {
            handshake.failure(of: .error(RedisReplyError(line: line)), at: index)
        }
        #expect(failure("WRONGPASS x", 0)?.remedy.contains("password") == true)
        #expect(
            failure("ERR AUTH called without any password", 0)?.remedy.contains("remove") == true
        )
        #expect(failure("ERR DB index is out of range", 1)?.remedy.contains("databases") == true)
        #expect(failure("ERR no", 2) == nil)
        #expect(failure("NOPERM no", 3) == nil)
        #expect(failure("ERR unknown command 'PING', with args beginning with: ", 3) == nil)
        #expect(failure("NOAUTH no", 3)?.remedy.contains("redis://user:password") == true)
        #expect(failure("LOADING x", 3) != nil)
        #expect(handshake.failure(of: .simpleString("OK"), at: 0) == nil)
    }

    @Test("the link is ready only after the last reply of the handshake")
    func login() throws {
        var state = try state("redis://:p@h")
        #expect(state.start() && !state.start())
        #expect(state.connected()?.count == 2)
        #expect(state.receiveLogin(.simpleString("OK"), now: start) == .wait)
        #expect(!state.isReady)
        #expect(state.receiveLogin(.simpleString("PONG"), now: start) == .ready)
        #expect(state.isReady)
    }

    @Test("the link reconnects without end, with growing bounds and full jitter")
    func reconnects() throws {
        var random = random
        var state = try state()
        #expect(state.start() == true)
        let backoff = RedisBackoff(base: .milliseconds(50), cap: .seconds(5))
        for attempt in 1...10_000 {
            guard case .reconnect(let delay, attempt) = state.lost(now: start, using: &random)
            else { return fail("stopped at attempt \(attempt)") }
            #expect(delay >= .zero && delay <= backoff.ceiling(attempt: attempt))
            #expect(state.lost(now: start, using: &random) == .nothing, "reported twice")
            #expect(state.retry() && !state.retry())
        }
        #expect(backoff.ceiling(attempt: 1) == .milliseconds(50))
        #expect(backoff.ceiling(attempt: 7) == .milliseconds(3_200))
        #expect(backoff.ceiling(attempt: 8) == .seconds(5))
        #expect(backoff.ceiling(attempt: .max) == .seconds(5))
    }

    @Test("delays are reset only after a connection has held")
    func resets() throws {
        var random = random
        var state = try ready()
        _ = state.lost(now: start + .seconds(1), using: &random)
        #expect(state.attempt == 1)
        #expect(state.retry() && state.connected() != nil)
        _ = state.receiveLogin(.null, now: start)
        _ = state.lost(now: start + .milliseconds(4_999), using: &random)
        #expect(state.attempt == 2)
        #expect(state.retry() && state.connected() != nil)
        _ = state.receiveLogin(.null, now: start)
        _ = state.lost(now: start + .seconds(5), using: &random)
        #expect(state.attempt == 1)
    }

    @Test("a graceful stop drains first, any other closes at once, and both finish")
    func stop() throws {
        var random = random
        var state = try ready()
        #expect(state.stop(graceful: true) == .drain)
        #expect(!state.isReady)
        #expect(state.stop(graceful: true) == .nothing)
        #expect(state.stop(graceful: false) == .close)
        #expect(state.lost(now: start, using: &random) == .finish)
        #expect(state.stop(graceful: false) == .nothing)
        #expect(!state.retry() && !state.start() && state.connected() == nil)
    }

    @Test("a stop while nothing is connected finishes at once")
    func stopEarly() throws {
        var random = random
        var idle = try state()
        #expect(idle.stop(graceful: true) == .finish)
        #expect(idle.start() == false)
        var connecting = try state()
        _ = connecting.start()
        #expect(connecting.stop(graceful: true) == .finish)
        #expect(connecting.connected() == nil, "a late success is closed")
        var waiting = try state()
        _ = waiting.start()
        _ = waiting.lost(now: start, using: &random)
        #expect(waiting.stop(graceful: false) == .finish)
        #expect(waiting.retry() == false)
    }

    @Test("a drained connection is replaced")
    func drain() throws {
        var random = random
        var state = try ready()
        state.drain(.masterMoved)
        #expect(state.drainFailure == .masterMoved)
        guard case .reconnect = state.lost(now: start, using: &random) else {
            return fail("not replaced")
        }
    }
}

extension RedisLinkState where Context == Void, Socket == Void {
    fileprivate mutating func start() -> Bool { start(()) }

    /// The server is found and the socket is opening.
    fileprivate mutating func connected() -> [RedisCommand]? {
        found(())
        return opened()
    }
}

@Suite struct RedisOutageLogTests {
    private let start = RedisInstant(uptimeNs: 1_000_000_000)

    @Test("an outage and its cause are logged at once, then a count of failures every 30 seconds")
    func outage() {
        var log = RedisOutageLog(interval: .seconds(30))
        #expect(log.failed(attempt: 1, now: start) == 1)
        // The log of a loss does not give the reason why it persists.
        #expect(log.failed(attempt: 2, now: start + .seconds(2)) == 1)
        for attempt in 3...11 {
            #expect(log.failed(attempt: attempt, now: start + .seconds(attempt)) == nil)
        }
        #expect(log.failed(attempt: 12, now: start + .seconds(32)) == 10)
        #expect(log.failed(attempt: 13, now: start + .seconds(59)) == nil)
        #expect(log.failed(attempt: 1, now: start + .seconds(62) + .seconds(1)) == 2)
    }

    @Test("a server that was never reachable is logged once, with the cause")
    func neverThere() {
        var log = RedisOutageLog(interval: .seconds(30))
        #expect(log.failed(attempt: 1, isLoss: false, now: start) == 1)
        #expect(log.failed(attempt: 2, isLoss: false, now: start + .seconds(1)) == nil)
        #expect(log.failed(attempt: 9, isLoss: false, now: start + .seconds(31)) == 2)
        _ = log.recovered()
        #expect(log.failed(attempt: 1, now: start + .seconds(90)) == 1)
        // The cause of a new loss is logged.
        #expect(log.failed(attempt: 2, now: start + .seconds(91)) == 1)
        #expect(log.failed(attempt: 3, now: start + .seconds(92)) == nil)
    }

    @Test("a server that accepts and drops connections is logged once")
    func flapping() {
        var log = RedisOutageLog(interval: .seconds(30))
        var lines = 0
        for attempt in 1...20 {
            if log.failed(attempt: attempt, now: start + .seconds(attempt)) != nil { lines += 1 }
            if log.recovered() { lines += 1 }
        }
        #expect(lines == 2)
    }
}
