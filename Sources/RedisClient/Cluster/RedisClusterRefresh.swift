import Logging
import NIOCore
import Synchronization

/// Reads the map of slots whenever ``RedisRefreshState`` says so.
///
/// Problem: nobody tells a client that a slot has moved. It learns so from a node that redirects, or
/// from one that is gone, often by a thousand commands in one instant; and a replica that took over
/// while nothing was asked of its master is learned of by nothing at all. Approach: trouble asks for
/// one reading soon, and without any there is one now and then; while a node is missing, readings
/// follow each other quickly. A redirection corrects its own slot at once; the reading finds all the
/// others that moved with it. Several nodes are asked and the view of the newest election counts: one
/// on the losing side of a partition answers as surely as the others.
///
/// The map is only ever a guess at whom to ask: nodes refuse what is not theirs.
///
/// `@unchecked Sendable`: state is confined to `eventLoop`.
final class RedisClusterRefresh: @unchecked Sendable {
    private enum Phase {
        case idle
        /// Reads the map and says whether all is calm.
        case running(read: () -> EventLoopFuture<Bool>)
        case ended
    }

    private let eventLoop: any EventLoop
    private var state: RedisRefreshState
    private var phase = Phase.idle
    /// The next reading; nil while none is planned.
    private var planned: (at: RedisInstant, timer: Scheduled<Void>)?

    init(configuration: RedisConfiguration, eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.state = RedisRefreshState(
            stableInterval: configuration.clusterRefreshInterval,
            troubleInterval: configuration.clusterTroubleInterval
        )
    }

    /// Starts with a reading; any thread.
    func start(_ read: @escaping @Sendable () -> EventLoopFuture<Bool>) {
        eventLoop.execute {
            guard case .idle = self.phase else { return }
            self.phase = .running(read: read)
            self.plan(self.state.request(now: self.now))
        }
    }

    /// Asks for a reading soon; any thread.
    func request() {
        eventLoop.execute { self.plan(self.state.request(now: self.now)) }
    }

    /// Ends; any thread.
    func stop() {
        eventLoop.execute {
            self.phase = .ended
            self.planned?.timer.cancel()
        }
    }

    private var now: RedisInstant { RedisInstant(eventLoop.now) }

    private func plan(_ at: RedisInstant?) {
        guard let at, case .running = phase else { return }
        if let planned, planned.at <= at { return }
        planned?.timer.cancel()
        let timer = eventLoop.scheduleTask(deadline: at.deadline) {
            self.planned = nil
            self.begin()
        }
        planned = (at, timer)
    }

    private func begin() {
        guard case .running(let read) = phase, state.begin(now: now) else { return }
        read().hop(to: eventLoop).whenComplete { result in
            let isStable = (try? result.get()) ?? false
            self.plan(self.state.finished(now: self.now, isStable: isStable))
        }
    }
}

extension RedisCluster {
    /// How many nodes are asked for the map: enough that one of them knows, few enough for a Cluster
    /// of a thousand nodes.
    private static let queriedMax = 5

    /// Asks some nodes and takes over the best answer; says whether all is calm.
    func readMap(_ probe: RedisProbe) -> EventLoopFuture<Bool> {
        let known = state.withLock { $0.lastRead?.nodes ?? [] }
        var random = SystemRandomNumberGenerator()
        let some = Set(known + url.endpoints).shuffled(using: &random).prefix(Self.queriedMax)
        return probe.query(RedisClusterView.commands, of: Array(some), on: eventLoop) { replies in
            replies.first?.array?.isEmpty == false
        }
        .map { self.take($0) }
    }

    private func take(_ answers: [RedisProbe.Answer]) -> Bool {
        let views = answers.compactMap { answer in
            (try? answer.replies.get()).flatMap { RedisClusterView($0, from: answer.endpoint) }
        }
        guard let best = RedisClusterView.best(of: views) else {
            logFailure(answers)
            return false
        }
        _ = outages.withLock { $0.recovered() }
        let (applied, observers, isStable) = state.withLock { state in
            let applied = state.apply(best.map, now: RedisInstant(eventLoop.now))
            state.isServing = best.isHealthy
            let isStable = best.isHealthy && best.map.isComplete && state.isConnected
            return (applied, state.isConnected ? state.takeObservers() : [], isStable)
        }
        for node in applied.removed { close(node) }
        for change in applied.changes {
            logger.info(
                "another node serves slots of the Cluster",
                metadata: [
                    "redis.node": "\(change.new)",
                    "redis.node.old": "\(change.old.map { "\($0)" } ?? "none")",
                    "failover": "\(change.isFailover)",
                ]
            )
            changes.publish(change)
        }
        let nodes = best.map.nodes
        subscriptions.relocate(.nodeRemoved) { nodes.contains($0) }
        firstMap.succeed()
        for observer in observers { observer.resume(.success(())) }
        return isStable
    }

    /// Says why the map cannot be read, but not too often.
    private func logFailure(_ answers: [RedisProbe.Answer]) {
        let now = RedisInstant(eventLoop.now)
        // Nobody counts them: that is neither the loss nor the first try after it.
        guard let failures = outages.withLock({ $0.failed(attempt: 3, now: now) }) else { return }
        let queried = answers.map { "\($0.endpoint)" }.joined(separator: ", ")
        let reason = answers.lazy.map { answer -> RedisLinkFailure in
            switch answer.replies {
            case .failure(let failure): return failure
            case .success(let replies):
                guard let error = replies.first?.error else { return .noSlots }
                return RedisHandshake.refused(error, isLogin: false)
            }
        }.first
        logger.warning(
            "the map of the Redis Cluster cannot be read",
            metadata: [
                "redis.nodes": "\(queried)", "error": "\(reason?.message ?? "no node is known")",
                "remedy": "\(reason?.remedy ?? "name more nodes in the URL")",
                "failures": "\(failures)",
            ]
        )
    }
}

/// When the map of slots is read: one reading at a time, and not too often.
///
/// A thousand commands that are redirected in one instant want it a thousand times; that makes one
/// reading now and one ``spacing`` later. No I/O, no clock.
struct RedisRefreshState {
    /// The shortest time between two readings: nodes gossip a change within about as long.
    static let spacing = Duration.milliseconds(100)

    /// Whether the map was read, and is being read.
    private enum State {
        case unread
        case reading(since: RedisInstant, isRequestedAgain: Bool)
        case read(since: RedisInstant)
    }

    private let stableInterval: Duration
    private let troubleInterval: Duration
    private var state = State.unread

    init(stableInterval: Duration, troubleInterval: Duration) {
        self.stableInterval = stableInterval
        self.troubleInterval = troubleInterval
    }

    /// Somebody found the map wanting; returns when to read, or `nil` if that follows from the
    /// reading under way.
    mutating func request(now: RedisInstant) -> RedisInstant? {
        switch state {
        case .unread: return now
        case .reading(let since, _):
            state = .reading(since: since, isRequestedAgain: true)
            return nil
        case .read(let since): return max(now, since + Self.spacing)
        }
    }

    /// Time has come; `false` means that a reading is under way.
    mutating func begin(now: RedisInstant) -> Bool {
        if case .reading = state { return false }
        state = .reading(since: now, isRequestedAgain: false)
        return true
    }

    /// The reading is over; returns when to begin the next: late if `isStable`, soon if something needs
    /// watching.
    mutating func finished(now: RedisInstant, isStable: Bool) -> RedisInstant {
        guard case .reading(let since, let isRequestedAgain) = state else { return now }
        state = .read(since: since)
        let interval = isRequestedAgain ? Self.spacing : isStable ? stableInterval : troubleInterval
        return max(now, since + interval)
    }
}
