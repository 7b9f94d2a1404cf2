import NIOCore

/// The connections of one event loop to one origin: performs the actions of an ``OriginPool``.
///
/// A class, because each of its connections refers to it; confined to its event loop.
final class OriginConnections {
    let origin: HTTPOrigin
    let limits: ConnectionLimits
    /// Outlives this object, which is kept there and by connections whose channels end on shutdown.
    private let loop: LoopConnections
    private var pool: OriginPool<HTTPConnection, HTTPExchange>
    /// Every open connection, to be closed on shutdown.
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    /// Which of several addresses have responded.
    private(set) var history: AddressHistory
    /// The addresses of the latest call that has some, and whether that call is a retry.
    private var addresses: [SocketAddress] = []
    private var isRetry = false

    init(
        _ origin: HTTPOrigin,
        on loop: LoopConnections,
        history: AddressHistory = AddressHistory()
    ) {
        self.origin = origin
        self.loop = loop
        self.history = history
        limits = loop.limits
        pool = OriginPool(
            connectionsMax: limits.connectionsMax,
            waitingMax: limits.waitingMax
        )
    }

    /// The time of its event loop's clock.
    var now: NIODeadline { loop.eventLoop.now }

    /// Whether there is nothing left to keep.
    var isEmpty: Bool { pool.isEmpty }

    var hasIdle: Bool { pool.hasIdle }

    /// Sends a request as soon as a connection is free.
    ///
    /// A call with addresses uses only a connection to one of them. Connections to other addresses
    /// are closed: the host's address has changed, or the address is not permitted any more.
    func request(_ exchange: HTTPExchange) {
        let call = exchange.call
        guard !call.addresses.isEmpty else {
            guard pool.hasIdle else {
                loop.finish(exchange, .failed(.unresolved))
                loop.forgetIfEmpty(self)
                return
            }
            exchange.location = .waiting(self)
            perform(pool.request(exchange), .tooManyWaiting)
            return
        }
        let hasMoved = addresses != call.addresses
        addresses = call.addresses
        isRetry = call.isRetry
        exchange.location = .waiting(self)
        let action = pool.request(exchange) { connection in
            guard let peer = connection.peer else { return false }
            return call.isRetry ? peer == call.addresses[0] : call.addresses.contains(peer)
        }
        perform(action, .tooManyWaiting)
        guard hasMoved else { return }
        history.keep(only: addresses)
        for connection in pool.retire({ !isStillThere($0) }) { connection.abandon(.closed) }
    }

    /// Returns whether the host still has the address of a connection, according to the latest
    /// call.
    func isStillThere(_ connection: HTTPConnection) -> Bool {
        guard !addresses.isEmpty, let peer = connection.peer else { return true }
        return addresses.contains(peer)
    }

    /// Sends a request again whose connection was dead.
    func retry(_ exchange: HTTPExchange) {
        exchange.location = .waiting(self)
        perform(pool.retry(exchange), .tooManyWaiting)
    }

    /// Cancels a waiting request.
    func cancel(_ exchange: HTTPExchange) {
        pool.cancel(exchange)
    }

    /// Reports the outcome of a request.
    func finish(_ exchange: HTTPExchange, _ outcome: HTTPResult.Outcome) {
        loop.finish(exchange, outcome)
    }

    // MARK: - Events of connections

    /// A connection can be used for the first time.
    func opened(_ connection: HTTPConnection) {
        connections[ObjectIdentifier(connection)] = connection
        let owner = connection.owner
        perform(
            pool.opened(
                connection,
                for: owner.flatMap { isWaiting($0) ? $0 : nil },
                wasOwned: owner != nil,
                fits: { Self.mayUse($0, connection) }
            ),
            .closed
        )
        // It was being made when the client was closed; no request waits for it.
        if loop.isClosed { connection.abandon(.cancelled) }
        if hasIdle { loop.scheduleSweep() }
    }

    /// A connection could not be made to any of `addresses`, or could not be used.
    ///
    /// It fails no request that may use another address.
    func failedToOpen(
        for owner: HTTPExchange?,
        to addresses: [SocketAddress],
        _ failure: HTTPFailure
    ) {
        perform(
            pool.failedToOpen(
                for: owner.flatMap { isWaiting($0) ? $0 : nil },
                wasOwned: owner != nil,
                fits: { $0.call.addresses.allSatisfy { address in addresses.contains(address) } }
            ),
            failure
        )
        perform(pool.openIfNeeded(), failure)
        loop.forgetIfEmpty(self)
    }

    /// A connection has completed a request.
    func free(_ connection: HTTPConnection) {
        perform(pool.free(connection, fits: { Self.mayUse($0, connection) }), .closed)
        if hasIdle { loop.scheduleSweep() }
    }

    /// A connection is closed.
    func lost(_ connection: HTTPConnection, wasIdle: Bool) {
        connections[ObjectIdentifier(connection)] = nil
        perform(pool.lost(connection, wasIdle: wasIdle), .closed)
        loop.forgetIfEmpty(self)
    }

    /// Returns whether a waiting request may use a connection: it leads to one of its addresses.
    private static func mayUse(_ exchange: HTTPExchange, _ connection: HTTPConnection) -> Bool {
        let addresses = exchange.call.addresses
        guard !addresses.isEmpty, let peer = connection.peer else { return true }
        return addresses.contains(peer)
    }

    private func isWaiting(_ exchange: HTTPExchange) -> Bool {
        if case .waiting = exchange.location { return true }
        return false
    }

    // MARK: - Timers

    /// Closes connections that have been idle too long.
    func retire(at now: NIODeadline) {
        for connection in pool.retire({ $0.isOld(at: now, limits) }) {
            connection.abandon(.closed)
        }
    }

    func close() {
        for connection in connections.values { connection.abandon(.cancelled) }
    }

    // MARK: - Actions

    private func perform(
        _ action: OriginPool<HTTPConnection, HTTPExchange>.Action,
        _ failure: HTTPFailure
    ) {
        switch action {
        case .none: break
        case .start(let exchange, let connection): connection.start(exchange)
        case .open(let owner): open(for: owner)
        case .tooManyWaiting(let exchange): loop.finish(exchange, .failed(.tooManyWaiting))
        case .unreachable(let exchange): loop.finish(exchange, .failed(failure))
        case .close(let connection): connection.abandon(.closed)
        }
    }

    /// Connects to the addresses of the request that waits for it, or to those of the latest call.
    private func open(for owner: HTTPExchange?) {
        var (addresses, isRetry) = (addresses, isRetry)
        if let call = (owner ?? pool.latestOpening)?.call, !call.addresses.isEmpty {
            (addresses, isRetry) = (call.addresses, call.isRetry)
        }
        let order = history.order(addresses, isRetry: isRetry)
        loop.dialer.dial(order, from: self, for: owner, on: loop.eventLoop)
    }

    // MARK: - Results of addresses

    /// Records that an address was connected or has responded.
    func reached(_ address: SocketAddress) {
        if addresses.count > 1 { history.succeeded(address) }
    }

    /// Records that an address could not be connected or has not responded.
    func missed(_ address: SocketAddress) {
        if addresses.count > 1 { history.failed(address) }
    }
}
