import NIOCore
import NIOPosix
import RedisClient
import Synchronization
import Testing

/// What happened, in order.
private final class Record: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

@Suite("EventLoopExecutor", .timeLimit(.minutes(1)))
struct EventLoopExecutorTests {
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("tasks that prefer it run on its loop, before and after they have waited")
    func place() async {
        let executor = EventLoopExecutor(eventLoop)
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask(executorPreference: executor) { [eventLoop] in
                    let before = eventLoop.inEventLoop
                    if number % 2 == 0 {
                        await Task.yield()
                    } else {
                        // A timer of Swift's own, which ends on another thread.
                        try? await Task.sleep(for: .milliseconds(1))
                    }
                    return before && eventLoop.inEventLoop
                }
            }
            for await isThere in group { #expect(isThere) }
        }
    }

    @Test("children of such a task run there too, in the order in which they were made")
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

    @Test("what it leaves to the loop comes after all that was waiting with it")
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
            // Once around, so that the loop has done what it was left.
            try? await eventLoop.submit {}.get()
        }
        #expect(record.all == ["task", "task", "task", "write", "write", "write"])
    }
}
