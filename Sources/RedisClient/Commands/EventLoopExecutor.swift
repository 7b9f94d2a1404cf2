package import NIOCore

/// An event loop as a task executor: a task that awaits a reply resumes on the loop that read it.
///
/// *Problem.* A task of Swift's default pool that awaits an event loop costs two thread wake-ups
/// per reply, and cache misses.
///
/// *Approach.* Tasks that prefer this executor run between the loop's reads and writes, one after
/// the other. Work that they hand to the loop in one iteration, such as commands of many tasks,
/// runs together in the next one. Such a task must therefore not block or compute for longer than
/// others can wait.
///
/// Jobs enqueued on the loop's own thread are collected in a list and run together. Those of other
/// threads go through the loop's queue. `@unchecked Sendable`: `jobs` and `isScheduled` are
/// accessed on the loop only.
package final class EventLoopExecutor: TaskExecutor, @unchecked Sendable {
    private let eventLoop: any EventLoop
    private var jobs: [UnownedJob] = []
    private var spare: [UnownedJob] = []
    private var isScheduled = false

    /// Makes an executor that runs tasks on the given loop.
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

    /// Runs the collected jobs.
    ///
    /// Jobs that these enqueue wait for the next iteration.
    private func runAll() {
        isScheduled = false
        swap(&jobs, &spare)
        for job in spare { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        spare.removeAll(keepingCapacity: true)
    }
}
