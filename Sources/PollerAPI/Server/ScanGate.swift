import Poller
import PollerIdentity
import Synchronization

/// Lets few look through many records at a time.
///
/// *Problem.* What is not in the index is looked for among records, two thousand for a page: some fifty
/// milliseconds of the store and a hundred of this process. A limit of requests a second says nothing
/// about that, and a few connections that ask for nothing else would take both from everybody.
///
/// *Approach.* So many at a time in a process, and one at a time for each key; whoever comes meanwhile
/// waits in a queue of its key, and the keys take turns. A queue that is full refuses: whoever does not
/// wait for answers is told when to come again. What was looked at counts in the key's rate as well
/// (``RequestRates/charge(key:records:)``).
///
/// A class, because all requests share it.
final class ScanGate: Sendable {
    /// At a time in one process: less than the cores it has, as a rule, so that the rest goes on.
    static let runningMax = 2
    /// Of one key that wait: a console with some tabs.
    static let waitingPerKeyMax = 8
    /// Of all keys that wait.
    static let waitingMax = 256

    /// A request that waits for its turn.
    private struct Waiting {
        let id: Int
        let turn: CheckedContinuation<Bool, Never>
    }

    /// Who looks and who waits.
    private struct State {
        /// The keys that are looking.
        var running: [String: Int] = [:]
        /// Of each key, in the order in which they came.
        var waiting: [String: [Waiting]] = [:]
        /// The keys whose turn it is next, first.
        var turns: [String] = []
        var count = 0
        /// Of each key, those that wait or are about to.
        var ofKey: [String: Int] = [:]
        var lastID = 0
        /// Those that have a number and do not wait yet, and those of them that were given up.
        var entering: Set<Int> = []
        var givenUp: Set<Int> = []
    }

    private let state = Mutex(State())

    /// How many wait for their turn.
    var waiting: Int { state.withLock { $0.count } }

    /// Looks when it is the key's turn.
    ///
    /// Errors: a ``Problem`` when too many wait already; `CancellationError` when the client has gone.
    func run<Found>(
        for key: String,
        _ look: () async throws -> Found
    ) async throws -> Found {
        try await enter(key)
        defer { leave(key) }
        return try await look()
    }

    private func enter(_ key: String) async throws {
        let id = try state.withLock { state throws(Problem) -> Int? in
            if Self.mayRun(key, state) {
                state.running[key, default: 0] += 1
                return nil
            }
            guard state.count < Self.waitingMax,
                state.ofKey[key] ?? 0 < Self.waitingPerKeyMax
            else {
                throw Problem(
                    .tooManyRequests,
                    "Too many searches among all records wait already: search by source, order, "
                        + "charge, amount or metadata that are in the index, or ask again later.",
                    retryAfterSeconds: 1
                )
            }
            state.lastID += 1
            Self.count(1, of: key, &state)
            state.entering.insert(state.lastID)
            return state.lastID
        }
        guard let id else { return }
        let hasTurn = await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                let isOver: Bool = state.withLock { state in
                    state.entering.remove(id)
                    if state.givenUp.remove(id) != nil { return true }
                    if state.waiting[key] == nil { state.turns.append(key) }
                    state.waiting[key, default: []].append(Waiting(id: id, turn: turn))
                    return false
                }
                if isOver { turn.resume(returning: false) } else { advance() }
            }
        } onCancel: {
            giveUp(id, key)
        }
        guard hasTurn else {
            state.withLock { Self.count(-1, of: key, &$0) }
            throw CancellationError()
        }
    }

    private func leave(_ key: String) {
        state.withLock { state in
            let left = (state.running[key] ?? 1) - 1
            state.running[key] = left > 0 ? left : nil
        }
        advance()
    }

    /// Lets those begin for whom there is room, one of each key in turn.
    private func advance() {
        let begun = state.withLock { state in
            var begun: [Waiting] = []
            var index = 0
            while index < state.turns.count {
                let key = state.turns[index]
                guard Self.mayRun(key, state), var queue = state.waiting[key], !queue.isEmpty
                else {
                    index += 1
                    continue
                }
                begun.append(queue.removeFirst())
                state.running[key, default: 0] += 1
                Self.count(-1, of: key, &state)
                state.turns.remove(at: index)
                state.waiting[key] = queue.isEmpty ? nil : queue
                if !queue.isEmpty { state.turns.append(key) }
            }
            return begun
        }
        for waiting in begun { waiting.turn.resume(returning: true) }
    }

    private func giveUp(_ id: Int, _ key: String) {
        let waiting: Waiting? = state.withLock { state in
            guard let index = state.waiting[key]?.firstIndex(where: { $0.id == id }) else {
                // It does not wait yet, or it has its turn already.
                if state.entering.contains(id) { state.givenUp.insert(id) }
                return nil
            }
            let waiting = state.waiting[key]?.remove(at: index)
            if state.waiting[key]?.isEmpty ?? false {
                state.waiting[key] = nil
                state.turns.removeAll { $0 == key }
            }
            return waiting
        }
        waiting?.turn.resume(returning: false)
    }

    private static func count(_ more: Int, of key: String, _ state: inout State) {
        state.count += more
        let left = (state.ofKey[key] ?? 0) + more
        state.ofKey[key] = left > 0 ? left : nil
    }

    private static func mayRun(_ key: String, _ state: State) -> Bool {
        state.running[key] == nil
            && state.running.values.reduce(0, +) < runningMax
    }
}

/// Looks through records for lists of watches, within what one key and one process may.
struct Scans: Sendable {
    let watches: any WatchStore
    let gate: ScanGate
    let rates: RequestRates

    /// A page for somebody; what the index does not answer waits for its turn and counts in the rate.
    func list(
        _ query: ListQuery,
        for caller: Caller
    ) async throws -> ListPage<WatchSnapshot> {
        guard query.isScan else { return try await watches.list(query) }
        let page = try await gate.run(for: caller.name) { try await watches.list(query) }
        if caller != .local { rates.charge(key: caller.name, records: page.looked) }
        return page
    }

    /// The same, or nil if too many searches wait already, for an answer that has begun and can no longer be refused.
    func listIfThereIsRoom(
        _ query: ListQuery,
        for caller: Caller
    ) async throws -> ListPage<WatchSnapshot>? {
        do {
            return try await list(query, for: caller)
        } catch let problem as Problem where problem.code == .tooManyRequests {
            return nil
        }
    }

    /// Passes what is of others for who may not see everything; `look` tells how many records it took.
    func passing<Found>(
        for caller: Caller,
        _ look: () async throws -> (Found, Int)
    ) async throws -> Found {
        guard !caller.accounts.isAll else { return try await look().0 }
        let (found, records) = try await gate.run(for: caller.name, look)
        rates.charge(key: caller.name, records: records)
        return found
    }
}
