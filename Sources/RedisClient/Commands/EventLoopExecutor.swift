package import NIOCore

/// An event loop as the executor of tasks: who awaits an answer goes on where it was read.
///
/// *Problem.* A task of Swift's own pool that awaits what an event loop brings costs two threads a wake
/// each, and their caches the rest.
///
/// *Approach.* Tasks that prefer this executor run between the loop's reads and writes, one after
/// the other. What they leave to the loop in one turn, commands of many tasks for example, it finds
/// together in the next. So nothing in such a task may block, or compute for longer than others can wait.
///
/// Jobs that the loop's own thread leaves gather in a list and run in one go; those of other threads
/// come through the loop's queue. `@unchecked Sendable`: `jobs` and `isScheduled` are the loop's own.
package final class EventLoopExecutor: TaskExecutor, @unchecked Sendable {
    private let eventLoop: any EventLoop
    private var jobs: [UnownedJob] = []
    private var spare: [UnownedJob] = []
    private var isScheduled = false

    /// Tasks run on this loop.
    package init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard eventLoop.inEventLoop else {
            return eventLoop.execute {
                unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
            }
        }
        jobs.append(job)
        if isScheduled { return }
        isScheduled = true
        eventLoop.execute { self.runAll() }
    }

    /// Runs what has gathered; what that leaves waits for the next turn.
    private func runAll() {
        isScheduled = false
        swap(&jobs, &spare)
        for job in spare { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        spare.removeAll(keepingCapacity: true)
    }
}
