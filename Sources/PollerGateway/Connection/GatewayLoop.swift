import NIOCore
import Poller
import PollerIdentity

/// The live connections of one event loop: who is told an event, and who is asked when.
///
/// *Problem*: tens of thousands of connections wait, nearly always for nothing. What a waiting one
/// costs is what a process can hold.
/// *Approach*: a connection is a few values in its loop, and no task, stream or timer of its own. All
/// of a loop's connections share its wheel of deadlines and the feed's batches: what a batch has for them
/// is one hop to the loop, and each connection concerned is flushed once. Who hears what is known for all
/// loops in one place (``LiveListeners``).
/// *Rejected*: a task for each reader, writer, clock and subscription. It reads better, and held
/// 50 KiB a connection.
///
/// Confined to its event loop: ``LiveHub`` has one in a box for each. A class, because handlers and
/// the hub share it.
final class GatewayLoop {
    let eventLoop: any EventLoop
    /// Its number among the loops.
    private let number: Int
    private let index: LiveListeners
    private let backlog: LoopBacklog
    private let start: NIODeadline
    private var connections: [Int: LiveConnection] = [:]
    private var connectionsMade = 0
    /// Subscriptions by number.
    private var listeners: [Int: LiveSubscription] = [:]
    private var listenersMade = 0
    private var wheel = DeadlineWheel()
    private var isTicking = false
    /// How far events have been handed out, by what was posted here.
    private var handedOut: [OutboxPosition]
    private var isDraining = false
    /// How long somebody may be on their way here, from their key to a connection.
    static let admissionMax = Duration.seconds(10)
    /// When keys were revoked, by name, for as long as somebody may be on their way with one.
    private var revoked: [String: Duration] = [:]

    /// A loop without connections, whose feed is at `positions`.
    init(
        _ eventLoop: any EventLoop,
        _ number: Int,
        _ index: LiveListeners,
        _ backlog: LoopBacklog,
        from positions: [OutboxPosition]
    ) {
        self.eventLoop = eventLoop
        self.number = number
        self.index = index
        self.backlog = backlog
        handedOut = positions
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
        index.add(
            LiveListeners.Seat(loop: self.number, number: number),
            hearing: subscription.subscription.interest
        )
        return number
    }

    func remove(listener number: Int) {
        guard listeners.removeValue(forKey: number) != nil else { return }
        index.remove(LiveListeners.Seat(loop: self.number, number: number))
    }

    // MARK: Events

    /// How far events have been handed to those who are live.
    var positions: [OutboxPosition] {
        if let settled = backlog.settled { handedOut = settled }
        return handedOut
    }

    /// The feed begins, or begins to tell us: whoever came before it reads what it may have missed.
    func began(at positions: [OutboxPosition]) {
        missed()
        handedOut = zip(handedOut, positions).map { max($0, $1) }
        backlog.begun()
    }

    /// Tells events to those who hear them, then flushes each of them once.
    func take(_ news: [LiveNews], readTo end: [OutboxPosition]) {
        var touched: [Int: LiveConnection] = [:]
        for item in news {
            for number in item.listeners { tell(item.event, number, &touched) }
            handedOut = item.event.positions
        }
        handedOut = end
        for connection in touched.values { connection.flush() }
    }

    /// Events were lost on the way here: everybody reads on from where they are.
    ///
    /// All of them know that before the first one goes on: what the feed has read meanwhile does not count.
    func missed() {
        let behind = Array(listeners.values)
        for listener in behind { listener.following.fallBehind(at: handedOut) }
        for listener in behind { listener.connection.flush() }
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
