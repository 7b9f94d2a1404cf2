/// Runs work of connections outside their event loops: checks of credentials and reads of missed events.
///
/// Each piece of work is a task only while it runs.
///
/// The amount is bounded: a connection has at most one check of credentials at a time, and a subscription at most one
/// read. A connection counts as pending at its address until its check has ended, even if its client disconnects.
final class GatewayWork: Sendable {
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let continuation: AsyncStream<@Sendable () async -> Void>.Continuation

    /// Creates a queue that is processed by ``run()``.
    init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    /// Runs a job as soon as possible.
    func start(_ job: @escaping @Sendable () async -> Void) {
        continuation.yield(job)
    }

    /// Runs jobs until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
            group.cancelAll()
        }
    }
}
