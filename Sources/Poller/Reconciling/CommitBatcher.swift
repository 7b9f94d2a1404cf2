package import Logging
import Synchronization

/// Gathers commits that are ready at the same time into one store operation for each partition.
///
/// While one round is at the store the next gathers behind it: alone a commit goes out at once,
/// under load many share a round trip. A store that cannot be reached is tried again until the
/// lease has ended; after that the commit could only be refused. A class, because every handler
/// hands its commit in here.
package final class CommitBatcher<Queue: LeaseQueue, C: Clock>: Sendable
where C.Duration == Duration {
    /// The most commits of one operation: 128 are about two milliseconds of Redis.
    private let batchMax = 128

    private let queue: Queue
    private let clock: C
    private let logger: Logger
    private let alarm: Alarm<C>
    private let state: Mutex<State>

    private struct State: Sendable {
        var waiting: [Int: [Entry]] = [:]
        var finished = false
    }

    private struct Entry: Sendable {
        let work: Work
        let endsAt: C.Instant
        let reply: CheckedContinuation<CommitResult, Never>
    }

    private enum Work: Sendable {
        case commit(Commit<Queue.Change>)
        case release(LeaseRef)
    }

    /// A batcher in front of `queue`; nothing goes out before ``run()``.
    package init(queue: Queue, clock: C, logger: Logger) {
        self.queue = queue
        self.clock = clock
        self.logger = logger
        alarm = Alarm(clock: clock)
        state = Mutex(State())
    }

    /// Hands a commit in and waits for what became of it; not even cancellation hurries it.
    ///
    /// `endsAt` is when the lease ends, by the local clock.
    package func commit(
        _ commit: Commit<Queue.Change>,
        endsAt: C.Instant
    ) async -> CommitResult {
        await add(.commit(commit), partition: commit.ref.partition, endsAt: endsAt)
    }

    /// Hands a lease back and waits for what became of it.
    package func release(_ ref: LeaseRef, endsAt: C.Instant) async -> CommitResult {
        await add(.release(ref), partition: ref.partition, endsAt: endsAt)
    }

    /// Nothing more will be handed in: ``run()`` returns when all is out.
    package func finish() {
        state.withLock { $0.finished = true }
        alarm.ring()
    }

    /// Commits and releases that wait for the next round.
    package var waitingCount: Int {
        state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } }
    }

    /// Sends until finished.
    ///
    /// Cancelled, it goes on answering but tries nothing a second time: leases are left to end.
    package func run() async {
        var pause = Duration.milliseconds(20)
        while true {
            let (round, finished) = state.withLock { state in
                defer { state.waiting = [:] }
                return (state.waiting, state.finished)
            }
            if round.isEmpty {
                if finished { return }
                await alarm.wait()
                continue
            }
            let failed = await withTaskGroup(of: [Entry].self) { group in
                for (_, entries) in round {
                    group.addTask { await self.send(entries) }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            guard !failed.isEmpty else {
                pause = .milliseconds(20)
                continue
            }
            if Task.isCancelled {
                for entry in failed { entry.reply.resume(returning: .leaseLost) }
                continue
            }
            putBack(failed)
            await alarm.sleep(until: clock.now.advanced(by: pause))
            pause = min(pause * 2, .seconds(1))
        }
    }

    private func add(
        _ work: Work,
        partition: Int,
        endsAt: C.Instant
    ) async -> CommitResult {
        await withCheckedContinuation { reply in
            state.withLock {
                $0.waiting[partition, default: []].append(
                    Entry(work: work, endsAt: endsAt, reply: reply)
                )
            }
            alarm.ring()
        }
    }

    /// Sends the work of one partition; returns what has to be tried again.
    private func send(_ entries: [Entry]) async -> [Entry] {
        var failed: [Entry] = []
        var rest = entries[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(batchMax))
            rest = rest.dropFirst(batchMax)
            var commits: [(Entry, Commit<Queue.Change>)] = []
            var releases: [(Entry, LeaseRef)] = []
            for entry in batch {
                switch entry.work {
                case .commit(let commit): commits.append((entry, commit))
                case .release(let ref): releases.append((entry, ref))
                }
            }
            failed += await answer(commits.map(\.0)) { () throws(StoreError) in
                try await queue.commit(commits.map(\.1))
            }
            failed += await answer(releases.map(\.0)) { () throws(StoreError) in
                try await queue.release(releases.map(\.1))
            }
        }
        return failed
    }

    private func answer(
        _ entries: [Entry],
        with operation: () async throws(StoreError) -> [CommitResult]
    ) async -> [Entry] {
        guard !entries.isEmpty else { return [] }
        do {
            for (entry, result) in zip(entries, try await operation()) {
                entry.reply.resume(returning: result)
            }
            return []
        } catch .unavailable(let reason) {
            logger.warning("commit delayed", metadata: ["error": "\(reason)"])
            return entries
        } catch {
            // Nothing else than the lease's end helps here: the item is looked at again then.
            logger.error(
                "commit impossible",
                metadata: ["error": "\(error)", "count": "\(entries.count)"]
            )
            for entry in entries { entry.reply.resume(returning: .leaseLost) }
            return []
        }
    }

    private func putBack(_ entries: [Entry]) {
        let now = clock.now
        for entry in entries where entry.endsAt <= now {
            entry.reply.resume(returning: .leaseLost)
        }
        state.withLock { state in
            for entry in entries where entry.endsAt > now {
                let partition =
                    switch entry.work {
                    case .commit(let commit): commit.ref.partition
                    case .release(let ref): ref.partition
                    }
                state.waiting[partition, default: []].append(entry)
            }
        }
    }
}
