import Logging
import NIOCore
import Synchronization

/// Reads the slot map whenever ``RedisRefreshState`` requires it.
///
/// Problem: a client is not notified when a slot moves. It notices only when a node redirects it or
/// is unreachable, often for a thousand commands at the same instant. And a replica that took over
/// goes unnoticed if its master received no commands. Approach: each problem requests one refresh
/// soon, and without any problem there is one at intervals. While a node is missing, refreshes
/// follow quickly. A redirection corrects its slot at once, and the refresh finds all others that
/// moved with it. Several nodes are queried, and the view of the newest election is used, because a
/// node on the losing side of a partition replies as well.
///
/// The map only guides the choice of a node. Nodes reject commands for slots that they do not
/// serve.
///
/// `@unchecked Sendable`: state is confined to `eventLoop`.
final class RedisClusterRefresh: @unchecked Sendable {
    private enum Phase {
        case idle
        /// Reads the map and returns whether the Cluster is stable.
        case running(read: () -> EventLoopFuture<Bool>)
        case ended
    }

    private let eventLoop: any EventLoop
    private var state: RedisRefreshState
    private var phase = Phase.idle
    /// The next refresh; `nil` while none is scheduled.
    private var planned: (at: RedisInstant, timer: Scheduled<Void>)?

    init(configuration: RedisConfiguration, eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.state = RedisRefreshState(
            stableInterval: configuration.clusterRefreshInterval,
            unstableInterval: configuration.clusterUnstableInterval
        )
    }

    /// Starts with a refresh; any thread.
    func start(_ read: @escaping @Sendable () -> EventLoopFuture<Bool>) {
        eventLoop.execute {
            guard case .idle = self.phase else { return }
            self.phase = .running(read: read)
            self.plan(self.state.request(now: self.now))
        }
    }

    /// Requests a refresh soon; any thread.
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
    /// How many nodes are queried for the map: enough that one of them knows it, few enough for a
    /// Cluster of a thousand nodes.
    private static let queriedMax = 5

    /// Queries some nodes and applies the best answer; returns whether the Cluster is stable.
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
                "Redis Cluster slots moved to another node",
                metadata: [
                    "redis.node": "\(change.new)",
                    "redis.node.old": "\(change.old.map { "\($0)" } ?? "none")",
                    "failover": "\(change.isFailover)",
                ]
            )
        }
        let nodes = best.map.nodes
        subscriptions.relocate(.nodeRemoved) { nodes.contains($0) }
        firstMap.succeed()
        for observer in observers { observer.resume(.success(())) }
        return isStable
    }

    /// Logs why the map cannot be read, at limited intervals.
    private func logFailure(_ answers: [RedisProbe.Answer]) {
        let now = RedisInstant(eventLoop.now)
        // Attempts are not counted here. 3 is neither the loss nor the first attempt after it.
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
            "reading the Redis Cluster slot map failed",
            metadata: [
                "redis.nodes": "\(queried)", "error": "\(reason?.message ?? "no node is known")",
                "remedy": "\(reason?.remedy ?? "name more nodes in the URL")",
                "failures": "\(failures)",
            ]
        )
    }
}

/// Decides when the slot map is read: one refresh at a time, and not too often.
///
/// A thousand commands that are redirected at the same instant request it a thousand times. That
/// causes one refresh now and one ``spacing`` later. No I/O, no clock.
struct RedisRefreshState {
    /// The shortest time between two refreshes: nodes gossip a change within about as long.
    static let spacing = Duration.milliseconds(100)

    /// Whether the map was read, or is being read.
    private enum State {
        case unread
        case reading(since: RedisInstant, isRequestedAgain: Bool)
        case read(since: RedisInstant)
    }

    private let stableInterval: Duration
    private let unstableInterval: Duration
    private var state = State.unread

    init(stableInterval: Duration, unstableInterval: Duration) {
        self.stableInterval = stableInterval
        self.unstableInterval = unstableInterval
    }

    /// Requests a refresh.
    ///
    /// Returns when to read, or `nil` if that is decided when the current refresh finishes.
    mutating func request(now: RedisInstant) -> RedisInstant? {
        switch state {
        case .unread: return now
        case .reading(let since, _):
            state = .reading(since: since, isRequestedAgain: true)
            return nil
        case .read(let since): return max(now, since + Self.spacing)
        }
    }

    /// The scheduled time has come.
    ///
    /// Returns `false` if a refresh is in progress.
    mutating func begin(now: RedisInstant) -> Bool {
        if case .reading = state { return false }
        state = .reading(since: now, isRequestedAgain: false)
        return true
    }

    /// The refresh is complete.
    ///
    /// Returns when to begin the next: late if `isStable`, soon otherwise.
    mutating func finished(now: RedisInstant, isStable: Bool) -> RedisInstant {
        guard case .reading(let since, let isRequestedAgain) = state else { return now }
        state = .read(since: since)
        let interval =
            isRequestedAgain ? Self.spacing : isStable ? stableInterval : unstableInterval
        return max(now, since + interval)
    }
}
