import Poller
import ServiceLifecycle
import Synchronization

/// Runs the replays that were asked of this process; their progress is in the store, so that every
/// process can tell it.
///
/// A class, because routes hand jobs to the loop that runs them.
final class ReplayDesk: Sendable {
    /// Replays at once: each reads and changes some hundred deliveries a second.
    static let runningMax = 4

    private let replayer: Replayer
    private let jobs: AsyncStream<(ReplayJob, Endpoint?)>
    private let incoming: AsyncStream<(ReplayJob, Endpoint?)>.Continuation
    private let running = Mutex<Set<String>>([])

    init(replayer: Replayer) {
        self.replayer = replayer
        (jobs, incoming) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.runningMax)
        )
    }

    /// Takes a job; false when too many are running.
    func start(_ job: ReplayJob, endpoint: Endpoint?) -> Bool {
        let isTaken = running.withLock { running in
            running.count < Self.runningMax && running.insert(job.endpoint).inserted
        }
        if isTaken { incoming.yield((job, endpoint)) }
        return isTaken
    }

    /// Runs what comes until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await (job, endpoint) in jobs {
                // Ends by itself, or is cancelled with this loop.
                group.addTask {
                    await self.replayer.run(job, endpoint: endpoint)
                    self.running.withLock { _ = $0.remove(job.endpoint) }
                }
            }
            group.cancelAll()
        }
    }
}
