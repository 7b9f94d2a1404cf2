import NIOCore
import NIOPosix
import PollerIdentity
import PollerQueue
import RedisClient
import Synchronization
import Testing

@testable import PollerRedis

/// Reads of logs that begin at the same time share a call.
@Suite("Reads of logs")
struct LogReadBatcherTests {
    private typealias Answer = Result<Int64?, StoreError>

    /// The number of reads of each call.
    private final class Calls: Sendable {
        private let counts = Mutex<[Int]>([])

        var all: [Int] { counts.withLock { $0 } }

        func add(_ count: Int) { counts.withLock { $0.append(count) } }
    }

    @Test("reads that begin together make one call, and each gets its own reply")
    func together() async throws {
        let calls = Calls()
        let answers = try await read(12, partitions: 1, calls) { reads in
            Self.numbers(of: reads)
        }
        #expect(answers == Self.own(0..<12))
        #expect(calls.all == [12])
    }

    @Test("reads of different partitions make a call each")
    func partitions() async throws {
        let calls = Calls()
        let answers = try await read(12, partitions: 3, calls) { reads in
            Self.numbers(of: reads)
        }
        #expect(answers == Self.own(0..<12))
        #expect(calls.all == [4, 4, 4])
    }

    @Test("no call has more than 64 reads, and none is left out")
    func bounded() async throws {
        let calls = Calls()
        let answers = try await read(150, partitions: 1, calls) { reads in
            Self.numbers(of: reads)
        }
        #expect(answers == Self.own(0..<150))
        #expect(calls.all.reduce(0, +) == 150)
        #expect(calls.all.allSatisfy { $0 <= 64 })
    }

    @Test("a damaged log fails its own read only")
    func damaged() async throws {
        let damage = StoreError.corrupt("the log of 5 is no list")
        let calls = Calls()
        let answers = try await read(8, partitions: 1, calls) { reads throws(StoreError) in
            if reads.contains(where: { $0.seq == 5 }) { throw damage }
            return Self.numbers(of: reads)
        }
        #expect(answers == Self.own(0..<5) + [Answer.failure(damage)] + Self.own(6..<8))
    }

    @Test("a read that the common reply has no space for is made alone")
    func tooLong() async throws {
        let calls = Calls()
        let answers = try await read(8, partitions: 1, calls) { reads in
            let numbers = Self.numbers(of: reads)
            return numbers.enumerated().map { $0.offset < 3 ? $0.element : .null }
        }
        #expect(answers == Self.own(0..<8))
        #expect(calls.all == [8, 1, 1, 1, 1, 1])
    }

    @Test("an unavailable store is asked once for all")
    func unavailable() async throws {
        let outage = StoreError.unavailable("no connection")
        let calls = Calls()
        let answers = try await read(8, partitions: 1, calls) { _ throws(StoreError) in
            throw outage
        }
        #expect(answers == Array(repeating: Answer.failure(outage), count: 8))
        #expect(calls.all == [8])
    }

    @Test("a cancelled caller does not take the others along")
    func cancelled() async throws {
        let calls = Calls()
        let answers = try await read(8, partitions: 1, cancelling: 0, calls) {
            reads throws(StoreError) in
            if Task.isCancelled { throw .unavailable("cancelled") }
            return Self.numbers(of: reads)
        }
        #expect(answers.first == Answer.failure(.unavailable("cancelled")))
        #expect(Array(answers.dropFirst()) == Self.own(1..<8))
    }

    private static func numbers(of reads: [LogRead]) -> [RedisValue] {
        reads.map { RedisValue.integer(Int64($0.seq)) }
    }

    /// The answers of reads that get their own replies.
    private static func own(_ numbers: Range<Int>) -> [Answer] {
        numbers.map { .success(Int64($0)) }
    }

    /// Makes reads on one event loop, as the handlers of a notifier do; their `seq` is their number.
    private func read(
        _ count: Int,
        partitions: Int,
        cancelling cancelled: Int? = nil,
        _ calls: Calls,
        _ reply: @Sendable @escaping ([LogRead]) throws(StoreError) -> [RedisValue]
    ) async throws -> [Answer] {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let key = try WatchKey(
            account: AccountID(unchecked: "default"),
            source: SourceID("src_1"),
            kind: .source
        )
        let reads = LogReadBatcher()
        let executor = EventLoopExecutor(loops.next())
        let answers = await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: (Int, Answer).self) { group in
                for number in 0..<count {
                    group.addTask {
                        if number == cancelled {
                            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                        }
                        let read = LogRead(key: key, seq: number, limit: 1)
                        do throws(StoreError) {
                            let value = try await reads.reply(
                                to: read,
                                partition: number % partitions
                            ) { reads throws(StoreError) in
                                calls.add(reads.count)
                                return try reply(reads)
                            }
                            return (number, .success(value.int.map(Int64.init)))
                        } catch {
                            return (number, .failure(error))
                        }
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
        }
        try await loops.shutdownGracefully()
        return try (0..<count).map { try #require(answers[$0]) }
    }
}
