import Logging
import NIOCore
import Synchronization

extension RedisCluster {
    /// How many nodes are asked for the map: enough that one of them knows, few enough for a Cluster
    /// of a thousand nodes.
    private static let askedMax = 5

    /// Asks some nodes and takes over the best answer; says whether all is calm.
    func readMap(_ probe: RedisProbe) -> EventLoopFuture<Bool> {
        let known = state.withLock { $0.read?.nodes ?? [] }
        var random = SystemRandomNumberGenerator()
        let some = Set(known + url.endpoints).shuffled(using: &random).prefix(Self.askedMax)
        return probe.ask(RedisClusterView.questions, of: Array(some), on: eventLoop) { replies in
            replies.first?.array?.isEmpty == false
        }
        .map { self.take($0) }
    }

    private func take(_ answers: [RedisProbe.Answer]) -> Bool {
        let views = answers.compactMap { answer in
            (try? answer.replies.get()).flatMap { RedisClusterView($0, from: answer.endpoint) }
        }
        guard let best = RedisClusterView.best(of: views) else {
            tell(answers)
            return false
        }
        _ = outages.withLock { $0.recovered() }
        let (applied, observers, isCalm) = state.withLock { state in
            let applied = state.apply(best.map, now: RedisInstant(eventLoop.now))
            let isCalm = best.isWell && best.map.isComplete && state.isConnected
            return (applied, state.isConnected ? state.takeObservers() : [], isCalm)
        }
        for node in applied.left { close(node) }
        for change in applied.changes {
            logger.info(
                "another node serves slots of the Cluster",
                metadata: [
                    "redis.node": "\(change.new)",
                    "redis.node.old": "\(change.old.map { "\($0)" } ?? "none")",
                    "failover": "\(change.isFailover)",
                ]
            )
            news.tell(change)
        }
        let nodes = best.map.nodes
        subscriptions.relocate(.nodeLeft) { nodes.contains($0) }
        firstMap.succeed()
        for observer in observers { observer.resume(.success(())) }
        return isCalm
    }

    /// Says why the map cannot be read, but not too often.
    private func tell(_ answers: [RedisProbe.Answer]) {
        let now = RedisInstant(eventLoop.now)
        guard let failures = outages.withLock({ $0.failed(attempt: 2, now: now) }) else { return }
        let asked = answers.map { "\($0.endpoint)" }.joined(separator: ", ")
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
                "redis.nodes": "\(asked)", "error": "\(reason?.message ?? "no node is known")",
                "remedy": "\(reason?.remedy ?? "name more nodes in the URL")",
                "failures": "\(failures)",
            ]
        )
    }
}
