import NIOCore

/// The connections of one event loop to one origin: does what an ``OriginPool`` says.
///
/// A class, because each of its connections refers to it; confined to its event loop.
final class OriginConnections {
    let origin: HTTPOrigin
    let limits: ConnectionLimits
    /// Outlives it: it is kept there, and by connections whose channels end on shutdown.
    private let loop: LoopConnections
    private var pool: OriginPool<HTTPConnection, HTTPExchange>
    /// Every connection that is there, to be closed on shutdown.
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    /// Which of several addresses have answered.
    private(set) var memory: AddressMemory
    /// Where the host is, as the latest call says that names addresses, and whether that call is a retry.
    private var addresses: [SocketAddress] = []
    private var isRetry = false

    init(_ origin: HTTPOrigin, on loop: LoopConnections, memory: AddressMemory = AddressMemory()) {
        self.origin = origin
        self.loop = loop
        self.memory = memory
        limits = loop.limits
        pool = OriginPool(
            connectionsMax: limits.connectionsMax,
            waitingMax: limits.waitingMax
        )
    }

    /// By the clock of its event loop.
    var now: NIODeadline { loop.eventLoop.now }

    /// Whether there is nothing left to keep.
    var isEmpty: Bool { pool.isEmpty }

    /// Whether a connection waits for requests.
    var hasIdle: Bool { pool.hasIdle }

    /// Sends a request as soon as a connection is free.
    ///
    /// One whose call names addresses uses a connection to one of these alone; others are closed, because
    /// the host has moved, or because they may not be reached any more.
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
        memory.keep(only: addresses)
        for connection in pool.retire({ !isStillThere($0) }) { connection.abandon(.closed) }
    }

    /// Whether the host still has the address that a connection leads to, as far as calls say.
    func isStillThere(_ connection: HTTPConnection) -> Bool {
        guard !addresses.isEmpty, let peer = connection.peer else { return true }
        return addresses.contains(peer)
    }

    /// Sends a request again, whose connection was dead.
    func retry(_ exchange: HTTPExchange) {
        exchange.location = .waiting(self)
        perform(pool.retry(exchange), .tooManyWaiting)
    }

    /// A request that waits is given up.
    func cancel(_ exchange: HTTPExchange) {
        pool.cancel(exchange)
    }

    /// A request has its outcome.
    func finish(_ exchange: HTTPExchange, _ outcome: HTTPResult.Outcome) {
        loop.finish(exchange, outcome)
    }

    // MARK: - What connections tell

    /// A connection can be used for the first time.
    func opened(_ connection: HTTPConnection) {
        connections[ObjectIdentifier(connection)] = connection
        let owner = connection.owner
        perform(
            pool.opened(
                connection,
                for: owner.flatMap { isWaiting($0) ? $0 : nil },
                wasOwned: owner != nil
            ),
            .closed
        )
        // It was under way when the client was closed; nobody waits for it.
        if loop.isClosed { connection.abandon(.cancelled) }
        if hasIdle { loop.scheduleSweep() }
    }

    /// A connection cannot be made, or not be used.
    func failedToOpen(for owner: HTTPExchange?, _ failure: HTTPFailure) {
        perform(
            pool.failedToOpen(
                for: owner.flatMap { isWaiting($0) ? $0 : nil },
                wasOwned: owner != nil
            ),
            failure
        )
        perform(pool.openIfNeeded(), failure)
        loop.forgetIfEmpty(self)
    }

    /// A connection has served a request.
    func free(_ connection: HTTPConnection) {
        perform(pool.free(connection), .closed)
        if hasIdle { loop.scheduleSweep() }
    }

    /// A connection is closed.
    func lost(_ connection: HTTPConnection, wasIdle: Bool) {
        connections[ObjectIdentifier(connection)] = nil
        perform(pool.lost(connection, wasIdle: wasIdle), .closed)
        loop.forgetIfEmpty(self)
    }

    private func isWaiting(_ exchange: HTTPExchange) -> Bool {
        if case .waiting = exchange.location { return true }
        return false
    }

    // MARK: - What time tells

    /// Closes what has been idle for too long.
    func retire(at now: NIODeadline) {
        for connection in pool.retire({ $0.isOld(at: now, limits) }) {
            connection.abandon(.closed)
        }
    }

    /// Closes every connection.
    func close() {
        for connection in connections.values { connection.abandon(.cancelled) }
    }

    // MARK: - What is done

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
        }
    }

    private func open(for owner: HTTPExchange?) {
        let order = memory.order(addresses, isRetry: isRetry)
        loop.dialer.dial(order, from: self, for: owner, on: loop.eventLoop)
    }

    // MARK: - Which address works

    /// An address was connected, or has answered.
    func reached(_ address: SocketAddress) {
        if addresses.count > 1 { memory.succeeded(address) }
    }

    /// An address could not be connected, or has not answered.
    func missed(_ address: SocketAddress) {
        if addresses.count > 1 { memory.failed(address) }
    }
}
