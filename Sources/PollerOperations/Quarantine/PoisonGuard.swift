package import Logging
import Metrics
package import PollerQueue
import Synchronization

/// Sets aside stored entries that crash the processes that read them.
///
/// *Problem.* A trap in Swift ends the process. An entry that traps is still stored when the next process starts, which
/// reads it and crashes too. Every later entry waits, of all accounts.
///
/// *Approach.* A reader marks an entry in the store before it handles it, and removes the mark afterwards, whether that
/// succeeded, failed with an error or was cancelled. A mark that a later process finds is a death. Entries without
/// deaths are handled together, entries with deaths one at a time in a process, so that only the cause is counted
/// again. An entry with ``deathsMax`` deaths is not handled: it is set aside, and the others continue.
///
/// ```
/// fresh ──mark──▶ handled together ──finished──▶ no mark
///                    └─ death ─▶ 1 ─▶ handled alone ─ death ─▶ 2 ─▶ … ─▶ set aside ──redrive──▶ fresh
/// ```
/// *Costs.* Two commands for a group, plus two for each entry that has deaths. The outbox reader marks only entries
/// that a dead or stuck notifier has left, so its normal reads cost nothing. The other readers run rarely (a page of
/// events, a check of the cluster) and always mark.
///
/// *A crash* of the process, or of the machine, leaves marks. They are removed when another process has handled the
/// entry. Setting aside is one operation in the store: the entry is recorded and removed, or neither happens.
///
/// *Rejected*: the delivery counter of Redis streams, because it also counts entries that come back because a shard is
/// unavailable, and only the outbox has it; handlers in separate processes.
///
/// A class, because the readers of a process wait for each other's suspects.
package final class PoisonGuard: Sendable {
    /// Deaths after which an entry is set aside.
    ///
    /// More than one or two, because processes are also killed from outside while they handle an innocent entry.
    package static let deathsMax = 3

    /// A guard that counts nothing, for readers whose store keeps no deaths.
    package static let none = PoisonGuard(
        nil,
        logger: Logger(label: "quarantine") { _ in SwiftLogNoOpLogHandler() }
    )

    private let store: (any SuspectStore)?
    private let logger: Logger
    private let lock = AsyncLock()
    /// Entries whose marks could not be removed, because the store did not answer.
    private let unfinished = Mutex<[Suspect]>([])
    /// The maximum number of remembered entries; the others are handled alone when they are read again.
    private static let unfinishedMax = 1000

    /// Creates the guard of a process.
    package convenience init(store: any SuspectStore, logger: Logger) {
        self.init(store, logger: logger)
    }

    private init(_ store: (any SuspectStore)?, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Returns the partition in which deaths of entries without a partition are counted.
    package func partition(of name: String) -> Int { store?.partition(ofSuspects: name) ?? 0 }

    /// Handles entries of one partition: those without deaths together, then the others one by one.
    ///
    /// `work` is called with each group. It is not called for entries that are set aside, nor for entries that another
    /// process may be handling, unless their reader shares work.
    ///
    /// - Throws: the error of `work`, or of the store. Entries that were not handled come again as they would without
    ///   a guard.
    package func handle(
        _ suspects: [Suspect],
        _ work: ([Suspect]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        guard !suspects.isEmpty else { return }
        guard let store else { return try await work(suspects) }
        // This process is alive, so an outage of the store must not count as deaths.
        await finishLate(in: store)
        var together: [Suspect] = []
        var shared: [Suspect] = []
        var alone: [Suspect] = []
        let states = try await store.begin(suspects, isAlone: false)
        for (suspect, suspectState) in zip(suspects, states) {
            switch suspectState {
            case .fresh: together.append(suspect)
            case .held where suspect.reader.sharesWork: shared.append(suspect)
            case .suspected: alone.append(suspect)
            case .held, .setAside: break
            }
        }
        if !together.isEmpty || !shared.isEmpty {
            try await run(together, alongside: shared, in: store, work)
        }
        for suspect in alone where !Task.isCancelled {
            await lock.acquire()
            do throws(StoreError) {
                try await handleAlone(suspect, in: store, work)
            } catch {
                lock.release()
                throw error
            }
            lock.release()
        }
    }

    /// Handles one entry.
    ///
    /// - Returns: the answer of `work`; `nil` when it was not called.
    package func handle<Answer: Sendable>(
        one suspect: Suspect,
        _ work: () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer? {
        var answer: Answer?
        try await handle([suspect]) { (_: [Suspect]) async throws(StoreError) -> Void in
            answer = try await work()
        }
        return answer
    }

    private func handleAlone(
        _ suspect: Suspect,
        in store: any SuspectStore,
        _ work: ([Suspect]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        // Again, because another process may have handled it while this one waited for its turn.
        guard let suspectState = try await store.begin([suspect], isAlone: true).first else {
            return
        }
        switch suspectState {
        case .setAside: return
        case .held:
            if suspect.reader.sharesWork { try await work([suspect]) }
        case .fresh: try await run([suspect], alongside: [], in: store, work)
        case .suspected(let deaths, let firstAt, let now):
            Self.count("poller_reader_deaths_total", suspect.reader)
            guard deaths < Self.deathsMax else {
                let entry = SetAsideEntry(suspect, deaths: deaths, firstAt: firstAt, at: now)
                return try await setAside(entry, suspect.reader, in: store)
            }
            logger.warning(
                "an entry whose reader ended is now handled alone",
                metadata: ["entry": "\(suspect.id)", "deaths": "\(deaths)"]
            )
            try await run([suspect], alongside: [], in: store, work)
        }
    }

    /// Runs `work` with marked entries and with others, and removes the marks in any case.
    private func run(
        _ suspects: [Suspect],
        alongside others: [Suspect],
        in store: any SuspectStore,
        _ work: ([Suspect]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        do throws(StoreError) {
            try await work(suspects + others)
        } catch {
            await finish(suspects, in: store)
            throw error
        }
        await finish(suspects, in: store)
    }

    private func setAside(
        _ entry: SetAsideEntry,
        _ reader: SuspectReader,
        in store: any SuspectStore
    ) async throws(StoreError) {
        guard try await store.setAside(entry) else {
            return logger.error(
                "an entry that ends its readers is skipped, because the quarantine is full",
                metadata: ["entry": "\(entry.id)", "hint": "redrive or dismiss entries"]
            )
        }
        Self.count("poller_set_aside_total", reader)
        logger.error(
            "an entry has ended several processes and is quarantined",
            metadata: [
                "entry": "\(entry.id)", "deaths": "\(entry.deaths)",
                "hint": "pollerctl quarantine entries",
            ]
        )
    }

    private func finish(_ suspects: [Suspect], in store: any SuspectStore) async {
        guard !suspects.isEmpty else { return }
        // Not a child task: a drain has cancelled the current task, and the mark would count as a death. It ends with
        // the store's answer, or its timeout.
        let last = Task { try await store.finish(suspects) }
        guard case .failure(let error) = await last.result else { return }
        unfinished.withLock { $0 = Array(($0 + suspects).suffix(Self.unfinishedMax)) }
        logger.debug("marks of handled entries not removed", metadata: ["error": "\(error)"])
    }

    private func finishLate(in store: any SuspectStore) async {
        let late = unfinished.withLock { unfinished in
            defer { unfinished = [] }
            return unfinished
        }
        for suspects in Dictionary(grouping: late, by: \.partition).values {
            await finish(suspects, in: store)
        }
    }

    private static func count(_ label: String, _ reader: SuspectReader) {
        Counter(label: label, dimensions: [("reader", reader.rawValue)]).increment()
    }
}

/// A lock that admits tasks one at a time, in order of arrival.
private final class AsyncLock: Sendable {
    private struct State: Sendable {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func acquire() async {
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                if state.isTaken {
                    state.waiting.append(waiter)
                    return false
                }
                state.isTaken = true
                return true
            }
            if isFree { waiter.resume() }
        }
    }

    func release() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiting.isEmpty {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
