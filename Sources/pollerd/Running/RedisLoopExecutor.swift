import NIOCore
import PollerQueue
import RedisClient

/// Runs a loop of this process on the event loop of its Redis connection.
///
/// All commands of one tick leave in one write, because the connection sees them together. A reply resumes its waiting
/// task without a thread change.
struct RedisLoopExecutor: WorkerLoopExecutor {
    private let eventLoop: any EventLoop
    private let clock = ContinuousClock()
    let executor: any TaskExecutor

    /// Uses the event loop on which the client reads and writes.
    init(_ client: RedisClient) {
        eventLoop = client.eventLoop
        executor = EventLoopExecutor(client.eventLoop)
    }

    func scheduleAlarm(at instant: ContinuousClock.Instant, _ alarm: @escaping @Sendable () -> Void)
    {
        let span = clock.now.duration(to: instant)
        eventLoop.scheduleTask(in: TimeAmount(span), alarm)
    }
}

/// The executors of the event loops that serve connections, one for each loop.
struct LoopExecutors: Sendable {
    private let all: [ObjectIdentifier: any TaskExecutor]

    /// Makes an executor for each loop of a group.
    init(_ group: any EventLoopGroup) {
        all = Dictionary(
            uniqueKeysWithValues: group.makeIterator().map {
                (ObjectIdentifier($0), EventLoopExecutor($0))
            }
        )
    }

    /// Returns the executor of a loop; `nil` for a loop of another group.
    func executor(of eventLoop: any EventLoop) -> (any TaskExecutor)? {
        all[ObjectIdentifier(eventLoop)]
    }
}
