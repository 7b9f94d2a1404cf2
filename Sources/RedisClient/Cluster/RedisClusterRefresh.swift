import NIOCore

/// Reads the map of slots whenever ``RedisRefreshState`` says so.
///
/// `@unchecked Sendable`: state is confined to `eventLoop`.
final class RedisClusterRefresh: @unchecked Sendable {
    private let eventLoop: any EventLoop
    private var state: RedisRefreshState
    private var timer: Scheduled<Void>?
    private var timerAt: RedisInstant?
    /// Reads the map and says whether all is calm; `nil` before the start and after the end.
    private var read: (() -> EventLoopFuture<Bool>)?

    init(configuration: RedisConfiguration, eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.state = RedisRefreshState(
            calmInterval: configuration.clusterRefreshInterval,
            troubleInterval: configuration.clusterTroubleInterval
        )
    }

    /// Starts with a reading; any thread.
    func start(_ read: @escaping @Sendable () -> EventLoopFuture<Bool>) {
        eventLoop.execute {
            self.read = read
            self.plan(self.state.want(now: self.now))
        }
    }

    /// Asks for a reading soon; any thread.
    func want() {
        eventLoop.execute { self.plan(self.state.want(now: self.now)) }
    }

    /// Ends; any thread.
    func stop() {
        eventLoop.execute {
            self.read = nil
            self.timer?.cancel()
        }
    }

    private var now: RedisInstant { RedisInstant(eventLoop.now) }

    private func plan(_ at: RedisInstant?) {
        guard let at, read != nil else { return }
        if timer != nil, let timerAt, timerAt <= at { return }
        timer?.cancel()
        timerAt = at
        timer = eventLoop.scheduleTask(deadline: at.deadline) {
            self.timer = nil
            self.begin()
        }
    }

    private func begin() {
        guard let read, state.begin(now: now) else { return }
        read().hop(to: eventLoop).whenComplete { result in
            let isCalm = (try? result.get()) ?? false
            self.plan(self.state.finished(now: self.now, isCalm: isCalm))
        }
    }
}
