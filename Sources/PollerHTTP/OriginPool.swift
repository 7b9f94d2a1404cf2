import NIOCore

/// Which connection serves which request of one origin: the decisions, without sockets.
///
/// The connection that was used last is used first, so that those that are not needed grow old and
/// are closed. A request that finds none free waits in line, and for each that waits a connection is
/// being made, up to the bound; whichever is free first serves it. A connection that cannot be made
/// fails one request that waits, the first: no more are told than were tried.
/// A repeated request has its own connection, made for it: another old one might be as dead.
struct OriginPool<Connection: AnyObject, Request: AnyObject> {
    /// What is to be done.
    enum Action {
        case none
        /// Send the request on this connection.
        case start(Request, Connection)
        /// Make a connection, for this request alone if one is named.
        case open(for: Request?)
        /// Too many wait already.
        case tooManyWaiting(Request)
        /// No connection could be made for this request.
        case unreachable(Request)
    }

    private let connectionsMax: Int
    private let waitingMax: Int
    /// The one that was used last stands last.
    private var idle: [Connection] = []
    private var waiting = CircularBuffer<Request>()
    /// Those that are made for whoever waits, and all that are there or being made.
    private var opening = 0
    private var total = 0

    init(connectionsMax: Int, waitingMax: Int) {
        self.connectionsMax = connectionsMax
        self.waitingMax = waitingMax
    }

    /// Whether nothing is left of it.
    var isEmpty: Bool { total == 0 && waiting.isEmpty }

    /// A request wants a connection, one that `fits` if it is there already.
    mutating func request(
        _ request: Request,
        fits: (Connection) -> Bool = { _ in true }
    ) -> Action {
        if let index = idle.lastIndex(where: fits) {
            return .start(request, idle.remove(at: index))
        }
        guard waiting.count < waitingMax else { return .tooManyWaiting(request) }
        waiting.append(request)
        return openIfNeeded()
    }

    /// A request whose connection was dead wants a new one; the dead one is lost already.
    mutating func retry(_ request: Request) -> Action {
        total += 1
        return .open(for: request)
    }

    /// A connection is there; `owner` is whom it was made for, if he still wants it.
    mutating func opened(_ connection: Connection, for owner: Request?, wasOwned: Bool) -> Action {
        if !wasOwned { opening -= 1 }
        if let owner { return .start(owner, connection) }
        return free(connection)
    }

    /// A connection could not be made.
    mutating func failedToOpen(for owner: Request?, wasOwned: Bool) -> Action {
        total -= 1
        if !wasOwned { opening -= 1 }
        if let request = owner ?? (wasOwned ? nil : waiting.popFirst()) {
            return .unreachable(request)
        }
        return .none
    }

    /// A connection has served its request and can serve another.
    mutating func free(_ connection: Connection) -> Action {
        if let request = waiting.popFirst() { return .start(request, connection) }
        idle.append(connection)
        return .none
    }

    /// A connection is gone, whatever it did.
    mutating func lost(_ connection: Connection, wasIdle: Bool) -> Action {
        total -= 1
        if wasIdle, let index = idle.lastIndex(where: { $0 === connection }) {
            idle.remove(at: index)
        }
        return openIfNeeded()
    }

    /// Makes a connection if more requests wait than are provided for.
    mutating func openIfNeeded() -> Action {
        guard waiting.count > opening, total < connectionsMax else { return .none }
        opening += 1
        total += 1
        return .open(for: nil)
    }

    /// A request waits no more.
    mutating func cancel(_ request: Request) {
        if let index = waiting.firstIndex(where: { $0 === request }) { waiting.remove(at: index) }
    }

    /// The idle connections that have served their time; they are idle no more, and still there.
    mutating func retire(_ isOld: (Connection) -> Bool) -> [Connection] {
        let old = idle.filter(isOld)
        if !old.isEmpty { idle.removeAll(where: isOld) }
        return old
    }

    /// Whether a connection waits for requests.
    var hasIdle: Bool { !idle.isEmpty }
}
