import NIOCore
import PollerDeliveries
import PollerIdentity

/// The live connections of one event loop, their subscriptions, and their deadlines.
///
/// *Problem*: tens of thousands of connections are idle nearly all the time. The cost of an idle connection determines
/// the capacity of a process.
///
/// *Approach*: a connection is a few values in its loop, without a task, stream or timer. All connections of a loop
/// share its deadline wheel and the feed's batches. A batch takes one hop to the loop, and each connection concerned is
/// flushed once. One table holds the subscriptions of all loops (``LiveListeners``).
///
/// *Rejected*: a task per reader, writer, clock and subscription. It reads better, but took 50 KiB per connection.
///
/// It is confined to its event loop, and ``LiveHub`` holds one in a box per loop. It is a class because handlers and
/// the hub share it.
final class GatewayLoop {
    let eventLoop: any EventLoop
    /// The index of this loop among the loops.
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
    /// The position up to which posted events were distributed here.
    private var distributedPositions: [OutboxPosition]
    private var isDraining = false
    /// The longest time between the check of a key and the resulting connection.
    static let admissionMax = Duration.seconds(10)
    /// Revocation times by key name, kept as long as connections with that key may still be arriving.
    private var revoked: [String: Duration] = [:]

    /// Creates a loop without connections for a feed at `positions`.
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
        distributedPositions = positions
        start = eventLoop.now
    }

    /// The time since the loop began.
    var now: Duration { .nanoseconds((eventLoop.now - start).nanoseconds) }

    // MARK: Connections

    /// Adds a connection and returns its number.
    func add(_ connection: LiveConnection) -> Int {
        connectionsMade += 1
        connections[connectionsMade] = connection
        return connectionsMade
    }

    /// Whether the principal's key was revoked while its connection was being set up.
    func isRevoked(_ principal: Principal) -> Bool {
        guard principal.isByKey, let at = revoked[principal.name] else { return false }
        return now - at < Self.admissionMax
    }

    /// Drains a new connection too if the process is draining already.
    func joined(_ connection: LiveConnection) {
        if isDraining { connection.drain() }
    }

    func remove(connection: Int) {
        connections[connection] = nil
    }

    /// Drains every connection, each at a different moment.
    func drain() {
        isDraining = true
        for connection in connections.values { connection.drain() }
    }

    /// Ends the connections of a key now.
    func revoke(_ name: String) {
        revoked = revoked.filter { now - $0.value < Self.admissionMax }
        revoked[name] = now
        for connection in Array(connections.values) { connection.transport?.revoked(name) }
    }

    /// Closes every connection now.
    func cut() {
        isDraining = true
        for connection in Array(connections.values) { connection.transport?.cut() }
    }

    // MARK: Subscriptions

    /// Registers a subscription for events from now on, and returns its number.
    func listen(_ subscription: LiveSubscription) -> Int {
        listenersMade += 1
        let number = listenersMade
        listeners[number] = subscription
        index.add(
            LiveListeners.Location(loop: self.number, number: number),
            matching: subscription.subscription.interest
        )
        return number
    }

    func remove(listener number: Int) {
        guard listeners.removeValue(forKey: number) != nil else { return }
        index.remove(LiveListeners.Location(loop: self.number, number: number))
    }

    // MARK: Events

    /// The position up to which events were distributed to live subscriptions.
    var positions: [OutboxPosition] {
        if let processedPositions = backlog.processedPositions {
            distributedPositions = processedPositions
        }
        return distributedPositions
    }

    /// The feed has begun, or has begun to follow this loop.
    ///
    /// Existing subscriptions read events they may have missed.
    func began(at positions: [OutboxPosition]) {
        missed()
        distributedPositions = zip(distributedPositions, positions).map { max($0, $1) }
        backlog.begun()
    }

    /// Distributes events to their subscriptions, then flushes each connection once.
    func take(_ routed: [RoutedEvent], readTo end: [OutboxPosition]) {
        var touched: [Int: LiveConnection] = [:]
        for item in routed {
            for number in item.listeners { deliver(item.event, number, &touched) }
            distributedPositions = item.event.positions
        }
        distributedPositions = end
        for connection in touched.values { connection.flush() }
    }

    /// Events were dropped on the way to this loop, so every subscription reads on from its position.
    ///
    /// All subscriptions are marked as behind before the first one continues, so that later progress of the feed does
    /// not count.
    func missed() {
        let behind = Array(listeners.values)
        for listener in behind { listener.progress.fallBehind(at: distributedPositions) }
        for listener in behind { listener.connection.flush() }
    }

    private func deliver(_ event: LiveEvent, _ number: Int, _ touched: inout [Int: LiveConnection])
    {
        guard let listener = listeners[number], listener.take(event) else { return }
        touched[listener.connection.number] = listener.connection
    }

    // MARK: Deadlines

    /// Schedules the next check of a connection.
    func scheduleCheck(_ connection: Int, at tenth: Int64) {
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
