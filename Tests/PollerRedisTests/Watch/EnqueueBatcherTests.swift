import NIOCore
import NIOPosix
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import RedisClient
import Synchronization
import Testing

@testable import PollerRedis

/// Single requests to enqueue that are made at the same time share a call.
@Suite("Batches of single enqueues")
struct EnqueueBatcherTests {
    private typealias Answer = EnqueueBatcher.Answer

    /// The number of requests of each call.
    private final class Calls: Sendable {
        let counts = Mutex<[Int]>([])
    }

    private static let outage = StoreError.unavailable("no connection")

    @Test("requests that arrive during a call make the next one together, at most 64 in each")
    func together() async throws {
        let (answers, calls) = try await enqueue(100) { watches in watches.map(Self.created) }
        #expect(calls == [1, 64, 35])
        for (number, answer) in answers.enumerated() {
            #expect(answer == Self.created(try Self.watch(number)))
        }
    }

    @Test("requests of different partitions do not wait for each other")
    func partitions() async throws {
        let (answers, calls) = try await enqueue(12, partitions: 12) { $0.map(Self.created) }
        #expect(calls == Array(repeating: 1, count: 12))
        #expect(answers.allSatisfy { $0 != nil })
    }

    @Test("each request has its own error")
    func errors() async throws {
        let damage = StoreError.corrupt("the item of 5 is no hash")
        let damaged = try Self.watch(5)
        let (answers, calls) = try await enqueue(8) { watches in
            watches.map { $0 == damaged ? .failure(damage) : Self.created($0) }
        }
        #expect(calls == [1, 7])
        for (number, answer) in answers.enumerated() {
            let own = number == 5 ? .failure(damage) : Self.created(try Self.watch(number))
            #expect(answer == own)
        }
    }

    @Test("requests that wait for a call fail with it if the store is unavailable")
    func unavailable() async throws {
        let (answers, calls) = try await enqueue(8) { $0.map { _ in .failure(Self.outage) } }
        #expect(calls == [1])
        #expect(answers == Array(repeating: Answer.failure(Self.outage), count: 8))
    }

    @Test("a cancelled request does not fail the others")
    func cancelled() async throws {
        for cancelled in [0, 1] {
            let (answers, _) = try await enqueue(8, cancelling: cancelled) { watches in
                watches.map { Task.isCancelled ? .failure(Self.outage) : Self.created($0) }
            }
            for (number, answer) in answers.enumerated() {
                let created = Self.created(try Self.watch(number))
                #expect(answer == (number == cancelled ? .failure(Self.outage) : created))
            }
        }
    }

    private static func watch(_ number: Int) throws -> NewWatch {
        try NewWatch(key: WatchKey("src_\(number)"))
    }

    private static func created(_ watch: NewWatch) -> Answer {
        .success(EnqueueResult(key: watch.key, outcome: .created, run: 1, seq: 0))
    }

    /// Makes requests on one event loop.
    ///
    /// The first calls end after all requests were made.
    ///
    /// Returns the answer to each, and the number of requests of each call.
    private func enqueue(
        _ count: Int,
        partitions: Int = 1,
        cancelling cancelled: Int? = nil,
        _ reply: @Sendable @escaping ([NewWatch]) -> [Answer]
    ) async throws -> (answers: [Answer?], calls: [Int]) {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let watches = try (0..<count).map(Self.watch)
        let batcher = EnqueueBatcher()
        let calls = Calls()
        let (allMade, made) = AsyncStream.makeStream(of: Void.self)
        let answers = await withTaskExecutorPreference(EventLoopExecutor(loops.next())) {
            await withTaskGroup(of: (Int, Answer)?.self) { group in
                for (number, watch) in watches.enumerated() {
                    group.addTask {
                        do throws(StoreError) {
                            let result = try await batcher.result(
                                of: watch,
                                partition: number % partitions
                            ) { watches in
                                calls.counts.withLock { $0.append(watches.count) }
                                for await _ in allMade {}
                                if number == cancelled {
                                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                                }
                                return reply(watches)
                            }
                            return (number, .success(result))
                        } catch {
                            return (number, .failure(error))
                        }
                    }
                }
                // Runs after the others have begun.
                group.addTask {
                    made.finish()
                    return nil
                }
                return await group.reduce(into: [Int: Answer]()) { all, answer in
                    if let answer { all[answer.0] = answer.1 }
                }
            }
        }
        try await loops.shutdownGracefully()
        return ((0..<count).map { answers[$0] }, calls.counts.withLock(\.self))
    }
}
