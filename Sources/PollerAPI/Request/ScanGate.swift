import PollerIdentity
import PollerOperations
import PollerWatches
import Synchronization

/// Limits concurrent searches through many records.
///
/// *Problem.* A search outside the index reads up to two thousand records per page: about 50 ms of the store and 100 ms
/// of this process. A limit of requests per second does not cover that, and a few connections with such searches would
/// exhaust both.
///
/// *Approach.* The number of concurrent searches is limited per process, and to one per key. Further requests wait in a
/// queue per key, and the keys take turns. A full queue rejects requests with a retry time. The records read also count
/// in the key's rate (``RequestRates/charge(key:records:)``).
final class ScanGate: Sendable {
    /// The maximum concurrent searches in a process, usually less than its cores, so that other work continues.
    static let runningMax = 2
    /// The maximum waiting requests per key, enough for a console with some tabs.
    static let waitingPerKeyMax = 8
    /// The maximum waiting requests of all keys.
    static let waitingMax = 256

    /// A waiting request.
    private struct Waiting {
        let id: Int
        let turn: CheckedContinuation<Bool, Never>
    }

    /// The running and waiting requests.
    private struct State {
        /// The number of running searches by key.
        var running: [String: Int] = [:]
        /// The waiting requests by key, in order of arrival.
        var waiting: [String: [Waiting]] = [:]
        /// The keys in the order of their turns.
        var turns: [String] = []
        var count = 0
        /// The number of requests by key that wait or are about to.
        var ofKey: [String: Int] = [:]
        var lastID = 0
        /// The numbered requests that do not wait yet, and those of them that were cancelled.
        var entering: Set<Int> = []
        var timedOut: Set<Int> = []
    }

    private let state = Mutex(State())

    /// The number of waiting requests.
    var waiting: Int { state.withLock { $0.count } }

    /// Runs a search when it is the key's turn.
    ///
    /// Errors: a ``Problem`` if too many requests are waiting; `CancellationError` if the client has disconnected.
    func run<Found>(
        for key: String,
        _ read: () async throws -> Found
    ) async throws -> Found {
        try await enter(key)
        defer { leave(key) }
        return try await read()
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
                    "Too many searches over all records are waiting: search by source, "
                        + "order, charge, amount or indexed metadata, or try again later.",
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
                    if state.timedOut.remove(id) != nil { return true }
                    if state.waiting[key] == nil { state.turns.append(key) }
                    state.waiting[key, default: []].append(Waiting(id: id, turn: turn))
                    return false
                }
                if isOver { turn.resume(returning: false) } else { advance() }
            }
        } onCancel: {
            cancelWait(id, key)
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

    /// Starts waiting requests while there is capacity, one of each key in turn.
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

    private func cancelWait(_ id: Int, _ key: String) {
        let waiting: Waiting? = state.withLock { state in
            guard let index = state.waiting[key]?.firstIndex(where: { $0.id == id }) else {
                // The request does not wait yet, or it is already running.
                if state.entering.contains(id) { state.timedOut.insert(id) }
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

/// Searches through records for lists, within the limits of a key and the process.
struct Scans: Sendable {
    let watches: any WatchStore
    let gate: ScanGate
    let rates: RequestRates

    /// Returns a page for a caller.
    ///
    /// A search outside the index waits for its turn and counts in the rate.
    func list(
        _ query: ListQuery,
        for caller: Caller
    ) async throws -> ListPage<WatchSnapshot> {
        try await page(isScan: query.isScan, for: caller) { try await watches.list(query) }
    }

    /// Returns a page of any list, like ``list(_:for:)``.
    func page<Item: Sendable>(
        isScan: Bool,
        for caller: Caller,
        _ read: () async throws -> ListPage<Item>
    ) async throws -> ListPage<Item> {
        guard isScan else { return try await read() }
        let page = try await gate.run(for: caller.name, read)
        if caller != .local { rates.charge(key: caller.name, records: page.looked) }
        return page
    }

    /// Returns a page, or `nil` if too many searches are waiting, for a response that has begun and can no longer be
    /// rejected.
    func listUnlessBusy(
        _ query: ListQuery,
        for caller: Caller
    ) async throws -> ListPage<WatchSnapshot>? {
        do {
            return try await list(query, for: caller)
        } catch let problem as Problem where problem.code == .tooManyRequests {
            return nil
        }
    }

    /// Runs a read that may skip records of other accounts.
    ///
    /// `read` returns its result and the number of records.
    func passing<Found>(
        for caller: Caller,
        _ read: () async throws -> (Found, Int)
    ) async throws -> Found {
        guard !caller.accounts.isAll else { return try await read().0 }
        let (found, records) = try await gate.run(for: caller.name, read)
        rates.charge(key: caller.name, records: records)
        return found
    }
}
