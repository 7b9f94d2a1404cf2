import Synchronization

/// What connections have done beside their event loops: credentials looked up, what was missed read.
///
/// Each is a task only while it runs.
///
/// Bounded by what asks for it: a connection has at most one look-up, and a subscription at most one
/// reading, at a time. A class, because connections and the service share it.
final class GatewayWork: Sendable {
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let continuation: AsyncStream<@Sendable () async -> Void>.Continuation

    /// Work that nobody does until ``run()``.
    init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    /// Has something done as soon as possible.
    func start(_ job: @escaping @Sendable () async -> Void) {
        continuation.yield(job)
    }

    /// Does what comes, until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
            group.cancelAll()
        }
    }
}

/// Counts connections, for who waits until the last is closed.
///
/// A class, because connections count and the service waits.
final class OpenConnections: Sendable {
    /// What the lock guards.
    private struct State: Sendable {
        var count = 0
        var waiter: CheckedContinuation<Void, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    func opened() {
        state.withLock { $0.count += 1 }
    }

    func closed() {
        state.withLock { state in
            state.count -= 1
            return state.count == 0 ? state.waiter.take() : nil
        }?.resume()
    }

    /// Returns when none is open, or when cancelled.
    ///
    /// One waiter.
    func allClosed() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isNow = state.withLock { state in
                    if state.count == 0 || state.isCancelled { return true }
                    state.waiter = waiter
                    return false
                }
                if isNow { waiter.resume() }
            }
        } onCancel: {
            state.withLock { state in
                state.isCancelled = true
                return state.waiter.take()
            }?.resume()
        }
    }
}
