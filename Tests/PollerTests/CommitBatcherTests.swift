import Poller
import PollerTesting
import Testing

@Suite("CommitBatcher")
struct CommitBatcherTests {
    let queue = SpyQueue()
    let clock = ManualClock()

    typealias Handlers = ThrowingTaskGroup<(Int, CommitResult), any Error>

    func commit(_ number: Int, partition: Int = 0) -> Commit<Int> {
        Commit(ref: ref(number, partition: partition), verdict: .rest, change: number)
    }

    func ref(_ number: Int, partition: Int = 0) -> LeaseRef {
        LeaseRef(
            id: ItemID(of: "\(number)"),
            partition: partition,
            token: 1,
            owner: Sample.owner
        )
    }

    /// Runs a batcher while `body` uses it, then finishes it.
    func batching(
        _ body: (CommitBatcher<SpyQueue, ManualClock>, inout Handlers) async throws -> Void
    ) async throws {
        let batcher = CommitBatcher(queue: queue, clock: clock, logger: Sample.quiet)
        let run = Task { await batcher.run() }
        try await withThrowingTaskGroup(of: (Int, CommitResult).self) { group in
            do {
                try await body(batcher, &group)
            } catch {
                queue.open()
                throw error
            }
            for try await _ in group {}
        }
        batcher.finish()
        await run.value
    }

    let later = ManualClock.Instant(offset: .seconds(12))

    @Test("alone a commit goes out at once")
    func alone() async throws {
        try await batching { batcher, _ in
            #expect(await batcher.commit(commit(2), endsAt: later) == .done)
        }
        #expect(queue.batches == [[2]])
        #expect(clock.now == .init(offset: .zero))
    }

    @Test("everybody gets the result of their own commit")
    func ownResult() async throws {
        try await batching { batcher, group in
            for number in 0..<200 {
                group.addTask { (number, await batcher.commit(commit(number), endsAt: later)) }
            }
            for try await (number, result) in group {
                #expect(result == (number % 2 == 0 ? .done : .leaseLost), "\(number)")
            }
        }
        #expect(queue.batches.joined().sorted() == Array(0..<200))
    }

    @Test("what comes while a round is at the store shares the next, 128 at most")
    func shares() async throws {
        queue.close()
        try await batching { batcher, group in
            group.addTask { (0, await batcher.commit(commit(0), endsAt: later)) }
            try await eventually("the first is at the store") { queue.batches.count == 1 }
            // Tasks run in any order; each is in the batcher's hands once it waits.
            for number in 1...300 {
                group.addTask { (number, await batcher.commit(commit(number), endsAt: later)) }
            }
            try await eventually("all wait") { batcher.waitingCount == 300 }
            queue.open()
        }
        #expect(queue.batches.map(\.count) == [1, 128, 128, 44])
    }

    @Test("each partition has operations of its own")
    func partitions() async throws {
        queue.close()
        try await batching { batcher, group in
            group.addTask { (0, await batcher.commit(commit(0), endsAt: later)) }
            try await eventually("the first is at the store") { queue.batches.count == 1 }
            for number in 1...9 {
                group.addTask {
                    let commit = commit(number, partition: number % 3)
                    return (number, await batcher.commit(commit, endsAt: later))
                }
            }
            try await eventually("all wait") { batcher.waitingCount == 9 }
            queue.open()
        }
        let batches = queue.batches.dropFirst().map { $0.sorted() }.sorted { $0[0] < $1[0] }
        #expect(batches == [[1, 4, 7], [2, 5, 8], [3, 6, 9]])
    }

    @Test("leases are given back through the same door")
    func releases() async throws {
        try await batching { batcher, _ in
            #expect(await batcher.release(ref(1), endsAt: later) == .done)
        }
        #expect(queue.releases == [[ref(1)]])
        #expect(queue.batches == [])
    }

    @Test("a store that cannot be reached is tried again, each time later")
    func retries() async throws {
        queue.fail([.unavailable("1"), .unavailable("2"), .unavailable("3")])
        try await batching { batcher, group in
            group.addTask { (2, await batcher.commit(commit(2), endsAt: later)) }
            for pause in [20, 40, 80] {
                await clock.waitForSleepers(1)
                clock.advance(by: .milliseconds(pause))
            }
            for try await (_, result) in group { #expect(result == .done) }
        }
        #expect(queue.batches == [[2], [2], [2], [2]])
        #expect(clock.now == .init(offset: .milliseconds(140)))
    }

    @Test("when the lease has ended the commit is given up")
    func givesUp() async throws {
        queue.fail(Array(repeating: .unavailable("down"), count: 9))
        try await batching { batcher, group in
            let soon = ManualClock.Instant(offset: .milliseconds(30))
            group.addTask { (2, await batcher.commit(commit(2), endsAt: soon)) }
            for pause in [20, 40] {
                await clock.waitForSleepers(1)
                clock.advance(by: .milliseconds(pause))
            }
            for try await (_, result) in group { #expect(result == .leaseLost) }
        }
        #expect(queue.batches == [[2], [2], [2]])
    }

    @Test("what the store does not understand is not tried again")
    func corrupt() async throws {
        queue.fail([.corrupt("odd")])
        try await batching { batcher, _ in
            #expect(await batcher.commit(commit(2), endsAt: later) == .leaseLost)
        }
        #expect(queue.batches == [[2]])
    }

    @Test("cancelled, it goes on answering but tries nothing twice")
    func cancelled() async throws {
        queue.fail([.unavailable("down")])
        let batcher = CommitBatcher(queue: queue, clock: clock, logger: Sample.quiet)
        let run = Task { await batcher.run() }
        run.cancel()
        #expect(await batcher.commit(commit(2), endsAt: later) == .leaseLost)
        #expect(await batcher.commit(commit(4), endsAt: later) == .done)
        batcher.finish()
        await run.value
        #expect(queue.batches == [[2], [4]])
    }
}
