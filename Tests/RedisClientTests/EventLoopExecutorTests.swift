import NIOCore
import NIOPosix
import RedisClient
import Synchronization
import Testing

/// Events, in order.
private final class Record: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

@Suite("EventLoopExecutor", .timeLimit(.minutes(5)))
struct EventLoopExecutorTests {
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("tasks that prefer the executor run on its loop before and after a suspension")
    func place() async {
        let executor = EventLoopExecutor(eventLoop)
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask(executorPreference: executor) { [eventLoop] in
                    let before = eventLoop.inEventLoop
                    if number % 2 == 0 {
                        await Task.yield()
                    } else {
                        // This timer of Swift ends on another thread.
                        try? await Task.sleep(for: .milliseconds(1))
                    }
                    return before && eventLoop.inEventLoop
                }
            }
            for await isThere in group { #expect(isThere) }
        }
    }

    @Test("child tasks run on the loop too, in the order of their creation")
    func order() async {
        let executor = EventLoopExecutor(eventLoop)
        let record = Record()
        await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<10 {
                    group.addTask { record.add("\(number)") }
                }
            }
        }
        #expect(record.all == (0..<10).map { "\($0)" })
    }

    @Test("work enqueued by tasks runs after all tasks of the same iteration")
    func together() async {
        let executor = EventLoopExecutor(eventLoop)
        let record = Record()
        await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask { [eventLoop] in
                        record.add("task")
                        eventLoop.execute { record.add("write") }
                    }
                }
            }
            // One more iteration, so that the loop has run the work enqueued before.
            try? await eventLoop.submit {}.get()
        }
        #expect(record.all == ["task", "task", "task", "write", "write", "write"])
    }
}
