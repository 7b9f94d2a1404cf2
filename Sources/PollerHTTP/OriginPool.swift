import NIOCore

/// The assignment of requests to the connections of one origin, without sockets.
///
/// The most recently used connection is used first, so that unneeded ones age and are closed. A
/// request that finds none free waits in the queue, and one connection is made for each waiting
/// request, up to the limit. The first free connection serves the oldest request that may use it. A
/// connection that cannot be made fails the oldest request that no other address could serve: each
/// attempt fails only one. A retried request gets a new connection made for it, because another old
/// one might be dead as well.
struct OriginPool<Connection: AnyObject, Request: AnyObject> {
    /// The action to perform.
    enum Action {
        case none
        /// Send the request on this connection.
        case start(Request, Connection)
        /// Make a connection, for this request only if there is one.
        case open(for: Request?)
        /// Too many requests already wait.
        case tooManyWaiting(Request)
        /// No connection could be made for this request.
        case unreachable(Request)
        /// Requests wait, but none may use this connection: close it to make room for another.
        case close(Connection)
    }

    private let connectionsMax: Int
    private let waitingMax: Int
    /// The most recently used is last.
    private var idle: [Connection] = []
    private var waiting = CircularBuffer<Request>()
    /// The connections being made for waiting requests, and all that are open or being made.
    private var opening = 0
    private var total = 0

    init(connectionsMax: Int, waitingMax: Int) {
        self.connectionsMax = connectionsMax
        self.waitingMax = waitingMax
    }

    /// Whether it has neither connections nor requests.
    var isEmpty: Bool { total == 0 && waiting.isEmpty }

    /// Requests a connection; an existing one must satisfy `fits`.
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

    /// Requests a new connection for a request whose connection was dead and is already removed.
    mutating func retry(_ request: Request) -> Action {
        total += 1
        return .open(for: request)
    }

    /// A connection is open; `owner` is the request it was made for, if it still waits.
    ///
    /// Any other request must satisfy `fits`.
    mutating func opened(
        _ connection: Connection,
        for owner: Request?,
        wasOwned: Bool,
        fits: (Request) -> Bool = { _ in true }
    ) -> Action {
        if !wasOwned { opening -= 1 }
        if let owner { return .start(owner, connection) }
        return free(connection, fits: fits)
    }

    /// A connection could not be made.
    ///
    /// It fails the request that it was made for, or else a waiting one that satisfies `fits`.
    mutating func failedToOpen(
        for owner: Request?,
        wasOwned: Bool,
        fits: (Request) -> Bool = { _ in true }
    ) -> Action {
        total -= 1
        if let owner { return .unreachable(owner) }
        guard !wasOwned else { return .none }
        opening -= 1
        guard let index = waiting.firstIndex(where: fits) else { return .none }
        return .unreachable(waiting.remove(at: index))
    }

    /// A connection has completed its request and is free; its next request must satisfy `fits`.
    mutating func free(
        _ connection: Connection,
        fits: (Request) -> Bool = { _ in true }
    ) -> Action {
        guard !waiting.isEmpty else {
            idle.append(connection)
            return .none
        }
        guard let index = waiting.firstIndex(where: fits) else { return .close(connection) }
        return .start(waiting.remove(at: index), connection)
    }

    /// The waiting request that the latest connection without an owner is made for.
    ///
    /// Another connection may serve it first.
    var latestOpening: Request? {
        guard opening > 0, opening <= waiting.count else { return nil }
        return waiting[waiting.index(waiting.startIndex, offsetBy: opening - 1)]
    }

    /// A connection is closed, idle or not.
    mutating func lost(_ connection: Connection, wasIdle: Bool) -> Action {
        total -= 1
        if wasIdle, let index = idle.lastIndex(where: { $0 === connection }) {
            idle.remove(at: index)
        }
        return openIfNeeded()
    }

    /// Makes a connection if more requests wait than connections are being made.
    mutating func openIfNeeded() -> Action {
        guard waiting.count > opening, total < connectionsMax else { return .none }
        opening += 1
        total += 1
        return .open(for: nil)
    }

    /// Removes a waiting request.
    mutating func cancel(_ request: Request) {
        if let index = waiting.firstIndex(where: { $0 === request }) { waiting.remove(at: index) }
    }

    /// Removes and returns the old idle connections; they still count as open.
    mutating func retire(_ isOld: (Connection) -> Bool) -> [Connection] {
        let old = idle.filter(isOld)
        if !old.isEmpty { idle.removeAll(where: isOld) }
        return old
    }

    /// Whether a connection is idle.
    var hasIdle: Bool { !idle.isEmpty }
}
