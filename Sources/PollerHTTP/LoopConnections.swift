import NIOCore

/// The state of a client on one event loop: its origins, the requests in progress, and the two
/// timers that all of them share.
///
/// *Deadlines*: one timer is set to the earliest deadline. When it fires, expired requests are
/// cancelled and it is set to the next. Most requests have the same timeout, so it fires about once
/// per timeout, however many there were. *Idle connections* are checked every few seconds.
///
/// A class, confined to its event loop.
final class LoopConnections {
    /// How often idle connections are checked; one may be kept that much longer.
    private static let sweepInterval = TimeAmount.seconds(5)
    /// The most hosts without a connection whose address results are kept; some 200 bytes each.
    private static let savedHistoriesMax = 1024

    let eventLoop: any EventLoop
    let limits: ConnectionLimits
    let dialer: any ConnectionMaker
    private var origins: [HTTPOrigin: OriginConnections] = [:]
    /// The address results of hosts without a connection.
    private var savedHistories: [HTTPOrigin: AddressHistory] = [:]
    /// All requests in progress, each at its index.
    private var exchanges: [HTTPExchange] = []
    private var timer: (at: NIODeadline, Scheduled<Void>)?
    private var isSweeping = false
    private(set) var isClosed = false

    init(_ eventLoop: any EventLoop, _ limits: ConnectionLimits, _ dialer: any ConnectionMaker) {
        self.eventLoop = eventLoop
        self.limits = limits
        self.dialer = dialer
    }

    /// Starts a request; it has exactly one outcome.
    func start(_ exchange: HTTPExchange) {
        exchange.index = exchanges.count
        exchanges.append(exchange)
        let call = exchange.call
        guard !isClosed else {
            finish(exchange, .failed(.cancelled))
            return
        }
        guard call.deadline > eventLoop.now else {
            finish(exchange, .failed(.deadline))
            return
        }
        scheduleTimer(at: call.deadline)
        if let known = origins[call.origin] {
            known.request(exchange)
        } else {
            let history = savedHistories.removeValue(forKey: call.origin) ?? AddressHistory()
            let new = OriginConnections(call.origin, on: self, history: history)
            origins[call.origin] = new
            new.request(exchange)
        }
    }

    /// Cancels a request if it is still in progress.
    func cancel(_ id: UInt64) {
        if let exchange = exchanges.first(where: { $0.id == id }) { abandon(exchange, .cancelled) }
    }

    /// Reports the outcome of a request.
    func finish(_ exchange: HTTPExchange, _ outcome: HTTPResult.Outcome) {
        let last = exchanges.removeLast()
        if last !== exchange {
            exchanges[exchange.index] = last
            last.index = exchange.index
        }
        exchange.location = .finished
        exchange.complete(
            with: HTTPResult(
                outcome: outcome,
                sentAt: exchange.sentAt,
                headAt: exchange.headAt,
                peer: exchange.peer
            )
        )
    }

    /// Closes all connections; requests in progress fail.
    func close() {
        isClosed = true
        timer?.1.cancel()
        timer = nil
        for exchange in exchanges { abandon(exchange, .cancelled) }
        for origin in origins.values { origin.close() }
    }

    /// Removes an origin without connections and requests, because the number of origins depends on
    /// the URLs that callers choose.
    ///
    /// The results of its addresses are kept, for a bounded number of hosts.
    func forgetIfEmpty(_ origin: OriginConnections) {
        guard origin.isEmpty, origins[origin.origin] === origin else { return }
        origins[origin.origin] = nil
        guard !origin.history.isEmpty else { return }
        if savedHistories.count >= Self.savedHistoriesMax { savedHistories = [:] }
        savedHistories[origin.origin] = origin.history
    }

    private func abandon(_ exchange: HTTPExchange, _ failure: HTTPFailure) {
        switch exchange.location {
        case .waiting(let origin):
            origin.cancel(exchange)
            finish(exchange, .failed(failure))
            forgetIfEmpty(origin)
        case .on(let connection): connection.abandon(failure)
        case .finished: break
        }
    }

    // MARK: - Deadlines

    private func scheduleTimer(at deadline: NIODeadline) {
        if let timer {
            guard deadline < timer.at else { return }
            timer.1.cancel()
        }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        timer = (deadline, eventLoop.scheduleTask(deadline: deadline) { bound.value.timerFired() })
    }

    private func timerFired() {
        timer = nil
        let now = eventLoop.now
        for exchange in exchanges.filter({ $0.call.deadline <= now }) {
            abandon(exchange, .deadline)
        }
        if let next = exchanges.lazy.map(\.call.deadline).min() { scheduleTimer(at: next) }
    }

    // MARK: - Idle connections

    /// Schedules the next check of idle connections, unless one is scheduled.
    func scheduleSweep() {
        guard !isSweeping, !isClosed else { return }
        isSweeping = true
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.scheduleTask(in: Self.sweepInterval) { bound.value.sweepIdle() }
    }

    private func sweepIdle() {
        isSweeping = false
        let now = eventLoop.now
        for origin in Array(origins.values) { origin.retire(at: now) }
        if origins.values.contains(where: \.hasIdle) { scheduleSweep() }
    }
}
