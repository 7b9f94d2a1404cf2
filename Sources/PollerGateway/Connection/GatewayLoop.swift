import NIOCore
import Poller

/// The live connections of one event loop: who is told an event, and who is asked when.
///
/// *Problem*: tens of thousands of connections wait, nearly always for nothing. What a waiting one
/// costs is what a process can hold.
/// *Approach*: a connection is a few values in its loop, and no task, stream or timer of its own. All
/// of a loop's connections share its wheel of deadlines, its index of who wants which source, and the
/// feed's batches: a batch is one hop to the loop, and each connection concerned is flushed once.
/// *Rejected*: a task for each reader, writer, clock and subscription. It reads better, and held
/// 50 KiB a connection.
///
/// Confined to its event loop: ``LiveHub`` has one in a box for each. A class, because handlers and
/// the hub share it.
final class GatewayLoop {
    let eventLoop: any EventLoop
    private let start: NIODeadline
    private var connections: [Int: LiveConnection] = [:]
    private var connectionsMade = 0
    /// Subscriptions by number: of every source, and of one.
    private var listeners: [Int: LiveSubscription] = [:]
    private var ofAll: Set<Int> = []
    private var bySource: [SourceID: Set<Int>] = [:]
    private var listenersMade = 0
    private var wheel = DeadlineWheel()
    private var isTicking = false
    /// How far events have been handed to those who are live.
    private(set) var positions: [OutboxPosition]
    private var isDraining = false
    /// How long somebody may be on their way here, from their key to a connection.
    private static let admissionMax = Duration.seconds(10)
    /// When keys were revoked, by name, for as long as somebody may be on their way with one.
    private var revoked: [String: Duration] = [:]

    /// A loop without connections, whose feed is at `positions`.
    init(_ eventLoop: any EventLoop, from positions: [OutboxPosition]) {
        self.eventLoop = eventLoop
        self.positions = positions
        start = eventLoop.now
    }

    /// What has passed since the loop began.
    var now: Duration { .nanoseconds((eventLoop.now - start).nanoseconds) }

    // MARK: Connections

    /// Takes a connection in, and returns its number here.
    func add(_ connection: LiveConnection) -> Int {
        connectionsMade += 1
        connections[connectionsMade] = connection
        return connectionsMade
    }

    /// Whether somebody was let in by a key that was revoked while they were on their way here.
    func isRevoked(_ principal: Principal) -> Bool {
        guard principal.isByKey, let at = revoked[principal.name] else { return false }
        return now - at < Self.admissionMax
    }

    /// Has a new connection end with the others when the process drains already.
    func joined(_ connection: LiveConnection) {
        if isDraining { connection.drain() }
    }

    func remove(connection: Int) {
        connections[connection] = nil
    }

    /// Every connection says goodbye, at a moment of its own.
    func drain() {
        isDraining = true
        for connection in connections.values { connection.drain() }
    }

    /// The connections of a key end now.
    func revoke(_ name: String) {
        revoked = revoked.filter { now - $0.value < Self.admissionMax }
        revoked[name] = now
        for connection in Array(connections.values) { connection.transport?.revoked(name) }
    }

    /// Every connection ends now.
    func cut() {
        isDraining = true
        for connection in Array(connections.values) { connection.transport?.cut() }
    }

    // MARK: Subscriptions

    /// Has a subscription told what happens from now on; returns its number.
    func listen(_ subscription: LiveSubscription) -> Int {
        listenersMade += 1
        let number = listenersMade
        listeners[number] = subscription
        if let sources = subscription.subscription.sources {
            for source in sources { bySource[source, default: []].insert(number) }
        } else {
            ofAll.insert(number)
        }
        return number
    }

    func remove(listener number: Int) {
        guard let listener = listeners.removeValue(forKey: number) else { return }
        ofAll.remove(number)
        for source in listener.subscription.sources ?? [] {
            bySource[source]?.remove(number)
            if bySource[source]?.isEmpty ?? false { bySource[source] = nil }
        }
    }

    // MARK: Events

    /// The feed begins, or begins to tell us: whoever came before it reads what it may have missed.
    func began(at positions: [OutboxPosition]) {
        self.positions = zip(self.positions, positions).map { max($0, $1) }
        missed()
    }

    /// Tells a batch to everybody it concerns, then flushes each of them once.
    func take(_ events: [LiveEvent]) {
        var touched: [Int: LiveConnection] = [:]
        for event in events {
            for number in bySource[event.event.key.source] ?? [] { tell(event, number, &touched) }
            for number in ofAll { tell(event, number, &touched) }
            positions = event.positions
        }
        for connection in touched.values { connection.flush() }
    }

    /// Events were lost on the way here: everybody reads on from where they are.
    func missed() {
        for listener in Array(listeners.values) { listener.missed() }
    }

    private func tell(_ event: LiveEvent, _ number: Int, _ touched: inout [Int: LiveConnection]) {
        guard let listener = listeners[number], listener.take(event) else { return }
        touched[listener.connection.number] = listener.connection
    }

    // MARK: Deadlines

    /// Writes down when a connection is to be asked next.
    func ask(_ connection: Int, at tenth: Int64) {
        wheel.add(connection, at: tenth)
        tickIfNeeded()
    }

    private func tickIfNeeded() {
        guard !isTicking, !wheel.isEmpty else { return }
        isTicking = true
        let grain = TimeAmount.nanoseconds(DeadlineWheel.grain.ms * 1_000_000)
        eventLoop.assumeIsolated().scheduleTask(in: grain) {
            self.isTicking = false
            for number in self.wheel.due(now: self.now) { self.connections[number]?.tick() }
            self.tickIfNeeded()
        }
    }
}
