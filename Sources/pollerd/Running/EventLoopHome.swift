import NIOCore
import Poller
import PollerQueue
import RedisClient

/// The event loop of the connection to Redis, on which a loop of this process lives.
///
/// Its exchanges leave in one write, because the connection finds all of a turn's commands at once, and what
/// it reads resumes the tasks that wait for it without a second thread.
struct EventLoopHome: LoopHome {
    private let eventLoop: any EventLoop
    private let clock = ContinuousClock()
    let executor: any TaskExecutor

    /// Lives where the client reads and writes.
    init(_ client: RedisClient) {
        eventLoop = client.eventLoop
        executor = EventLoopExecutor(client.eventLoop)
    }

    func ring(at instant: ContinuousClock.Instant, _ alarm: @escaping @Sendable () -> Void) {
        let span = clock.now.duration(to: instant)
        eventLoop.scheduleTask(in: TimeAmount(span), alarm)
    }
}
