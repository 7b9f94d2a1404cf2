import Testing

@testable import PollerHTTP

@Suite("OriginPool")
struct OriginPoolTests {
    /// A connection or a request; only its identity matters.
    private final class Thing {}

    private typealias Pool = OriginPool<Thing, Thing>

    private func pool(connectionsMax: Int = 2, waitingMax: Int = 3) -> Pool {
        Pool(connectionsMax: connectionsMax, waitingMax: waitingMax)
    }

    /// The name of an action.
    private func word(_ action: Pool.Action) -> String {
        switch action {
        case .none: "none"
        case .start: "start"
        case .open(let owner): owner == nil ? "open" : "open for"
        case .tooManyWaiting: "too many"
        case .unreachable: "unreachable"
        case .close: "close"
        }
    }

    @Test("a connection is made for each waiting request, up to the limit")
    func opens() {
        var pool = pool()
        #expect(word(pool.request(Thing())) == "open")
        #expect(word(pool.request(Thing())) == "open")
        #expect(word(pool.request(Thing())) == "none")
        #expect(word(pool.request(Thing())) == "too many")
    }

    @Test("the oldest request is served first, by the most recently used connection")
    func order() {
        var pool = pool()
        let (first, second) = (Thing(), Thing())
        _ = pool.request(first)
        _ = pool.request(second)
        let (one, two) = (Thing(), Thing())
        guard case .start(let served, let by) = pool.opened(one, for: nil, wasOwned: false),
            case .start(let next, _) = pool.opened(two, for: nil, wasOwned: false)
        else { return #expect(Bool(false), "not served") }
        #expect(served === first && by === one && next === second)
        _ = pool.free(one)
        _ = pool.free(two)
        guard case .start(_, let used) = pool.request(Thing()) else {
            return #expect(Bool(false), "not reused")
        }
        #expect(used === two)
    }

    @Test("a connection that cannot be made fails the oldest request")
    func unreachable() {
        var pool = pool(connectionsMax: 1)
        let (first, second) = (Thing(), Thing())
        _ = pool.request(first)
        _ = pool.request(second)
        guard case .unreachable(let failed) = pool.failedToOpen(for: nil, wasOwned: false) else {
            return #expect(Bool(false), "no request failed")
        }
        #expect(failed === first)
        #expect(word(pool.openIfNeeded()) == "open")
        #expect(word(pool.failedToOpen(for: nil, wasOwned: false)) == "unreachable")
        #expect(pool.isEmpty)
    }

    @Test("a connection that cannot be made fails no request that it could not have served")
    func unreachableFits() {
        var pool = pool()
        let (first, second) = (Thing(), Thing())
        _ = pool.request(first)
        _ = pool.request(second)
        let outcome = pool.failedToOpen(for: nil, wasOwned: false, fits: { $0 === second })
        guard case .unreachable(let failed) = outcome else {
            return #expect(Bool(false), "no request failed")
        }
        #expect(failed === second)
        #expect(
            word(pool.failedToOpen(for: nil, wasOwned: false, fits: { $0 === second })) == "none"
        )
        #expect(word(pool.openIfNeeded()) == "open" && pool.latestOpening === first)
    }

    @Test("a lost connection is replaced only if a request waits")
    func lost() {
        var pool = pool(connectionsMax: 1)
        _ = pool.request(Thing())
        let one = Thing()
        _ = pool.opened(one, for: nil, wasOwned: false)
        _ = pool.request(Thing())
        #expect(word(pool.lost(one, wasIdle: false)) == "open")
        let two = Thing()
        #expect(word(pool.opened(two, for: nil, wasOwned: false)) == "start")
        _ = pool.free(two)
        #expect(word(pool.lost(two, wasIdle: true)) == "none")
        #expect(pool.isEmpty)
    }

    @Test("a retried request gets a new connection, not another old one")
    func again() {
        var pool = pool()
        let request = Thing()
        _ = pool.request(request)
        _ = pool.request(Thing())
        let (one, two) = (Thing(), Thing())
        _ = pool.opened(one, for: nil, wasOwned: false)
        _ = pool.opened(two, for: nil, wasOwned: false)
        _ = pool.free(two)
        _ = pool.lost(one, wasIdle: false)
        guard case .open(let owner) = pool.retry(request) else {
            return #expect(Bool(false), "no new one")
        }
        #expect(owner === request)
        let new = Thing()
        guard case .start(let served, let by) = pool.opened(new, for: request, wasOwned: true)
        else {
            return #expect(Bool(false), "not served")
        }
        #expect(served === request && by === new)
    }

    @Test("a request takes the most recently used connection to a permitted address")
    func fitting() {
        var pool = pool()
        _ = pool.request(Thing())
        _ = pool.request(Thing())
        let (one, two) = (Thing(), Thing())
        for connection in [one, two] { _ = pool.opened(connection, for: nil, wasOwned: false) }
        for connection in [one, two] { _ = pool.free(connection) }
        guard case .start(_, let used) = pool.request(Thing(), fits: { $0 === one }) else {
            return #expect(Bool(false), "not reused")
        }
        #expect(used === one && pool.hasIdle)
        #expect(
            word(pool.request(Thing(), fits: { $0 === one })) == "none",
            "the limit of connections is reached"
        )
    }

    @Test("a connection serves the oldest request that may use it, and is closed if none may")
    func waitingFits() {
        var pool = pool(connectionsMax: 1)
        let (first, second, connection) = (Thing(), Thing(), Thing())
        _ = pool.request(first)
        #expect(pool.latestOpening === first)
        _ = pool.request(second)
        let opened = pool.opened(connection, for: nil, wasOwned: false, fits: { $0 === second })
        guard case .start(let served, _) = opened else {
            return #expect(Bool(false), "not served")
        }
        #expect(served === second)
        #expect(word(pool.free(connection, fits: { $0 === second })) == "close")
        #expect(word(pool.lost(connection, wasIdle: true)) == "open")
        #expect(pool.latestOpening === first)
        #expect(word(pool.opened(Thing(), for: nil, wasOwned: false)) == "start")
    }

    @Test("a cancelled request is not served, and the connection made for it serves another")
    func cancelled() {
        var pool = pool(connectionsMax: 1)
        let (first, second) = (Thing(), Thing())
        _ = pool.request(first)
        _ = pool.request(second)
        pool.cancel(first)
        guard case .start(let served, _) = pool.opened(Thing(), for: nil, wasOwned: false) else {
            return #expect(Bool(false), "not served")
        }
        #expect(served === second)
    }

    @Test("idle connections are removed, busy ones are not")
    func retired() {
        var pool = pool()
        _ = pool.request(Thing())
        _ = pool.request(Thing())
        let (busy, idle) = (Thing(), Thing())
        _ = pool.opened(busy, for: nil, wasOwned: false)
        _ = pool.opened(idle, for: nil, wasOwned: false)
        _ = pool.free(idle)
        let old = pool.retire { _ in true }
        #expect(old.count == 1 && old[0] === idle && !pool.hasIdle)
        #expect(word(pool.lost(idle, wasIdle: true)) == "none")
        #expect(!pool.isEmpty)
    }
}
