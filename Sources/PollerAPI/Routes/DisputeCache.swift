import PollerHints
import PollerIdentity

/// A cache of disputes that were read within the last minute.
///
/// *Cost*: each account is read at most once a minute, and after a failure once in ten seconds. Requests that arrive
/// during a read wait for its result. A request reads at most ``readsMax`` accounts, ``atOnce`` at a time, and starts
/// no read after ``readStartMax``. The results are kept, and the next request continues with the remaining accounts.
///
/// An actor, because requests share it.
actor DisputeCache {
    /// The cache time of a result.
    private static let span = Duration.seconds(60)
    /// The cache time of a failure.
    private static let failureSpan = Duration.seconds(10)
    /// The maximum number of cached accounts, above which the oldest is removed.
    private static let accountsMax = 1000
    /// The maximum number of accounts that a request reads from the upstream.
    static let readsMax = 200
    /// The number of accounts that a request reads concurrently.
    static let atOnce = 8
    /// The time after which a request starts no further read, because a person waits for it.
    private static let readStartMax = Duration.seconds(15)

    /// A result and its age.
    struct Reading: Sendable {
        let result: Result<[AccountDispute], DisputeReadFailure>
        let age: Duration
    }

    /// The watch of a dispute; empty for a payment that is not watched.
    struct LinkedWatch: Sendable {
        var key: WatchKey?
        var order: OrderID?
    }

    /// The result of an account, with the watches that were found for its disputes.
    private struct CachedResult {
        let result: Result<[AccountDispute], DisputeReadFailure>
        let age: @Sendable () -> Duration
        var linkedWatches: [String: LinkedWatch] = [:]

        var isFresh: Bool {
            switch result {
            case .success: age() < DisputeCache.span
            case .failure: age() < DisputeCache.failureSpan
            }
        }
    }

    private let reader: any DisputeReader
    private let clock: any Clock<Duration>
    private var cached: [AccountID: CachedResult] = [:]
    private var running: [AccountID: Task<Result<[AccountDispute], DisputeReadFailure>, Never>] =
        [:]

    init(reader: any DisputeReader, clock: any Clock<Duration>) {
        self.reader = reader
        self.clock = clock
    }

    /// The accounts whose disputes can be read.
    nonisolated var accounts: [AccountID] { reader.disputedAccounts }

    /// Returns the disputes of some accounts, without those that a later request will read.
    func disputes(of accounts: [AccountID]) async -> [AccountID: Reading] {
        var known: [AccountID: Reading] = [:]
        var remaining: [AccountID] = []
        for account in accounts {
            if let reading = fresh(account) {
                known[account] = reading
            } else if remaining.count < Self.readsMax {
                remaining.append(account)
            }
        }
        let (begun, unread, waited) = (known, remaining, clock.stopwatch())
        return await withTaskGroup(of: (AccountID, Reading).self) { group in
            var found = begun
            for (index, account) in unread.enumerated() {
                if index >= Self.atOnce, let done = await group.next() { found[done.0] = done.1 }
                guard waited() < Self.readStartMax else { break }
                group.addTask { (account, await self.disputes(of: account)) }
            }
            for await done in group { found[done.0] = done.1 }
            return found
        }
    }

    func disputes(of account: AccountID) async -> Reading {
        if let reading = fresh(account) { return reading }
        let read: Task<Result<[AccountDispute], DisputeReadFailure>, Never>
        if let running = running[account] {
            read = running
        } else {
            // A separate task: the first request may be cancelled while others still wait.
            read = Task { await self.read(account) }
            running[account] = read
        }
        return Reading(result: await read.value, age: .zero)
    }

    /// Returns the watch of a dispute, if searched since the last read of its account; `nil` otherwise.
    func linkedWatch(of dispute: AccountDispute) -> LinkedWatch? {
        cached[dispute.account]?.linkedWatches[dispute.id]
    }

    func keep(_ linkedWatch: LinkedWatch, of dispute: AccountDispute) {
        cached[dispute.account]?.linkedWatches[dispute.id] = linkedWatch
    }

    private func fresh(_ account: AccountID) -> Reading? {
        guard let cached = cached[account], cached.isFresh else { return nil }
        return Reading(result: cached.result, age: cached.age())
    }

    private func read(
        _ account: AccountID
    ) async -> Result<[AccountDispute], DisputeReadFailure> {
        let result: Result<[AccountDispute], DisputeReadFailure>
        do throws(DisputeReadFailure) {
            result = .success(try await reader.disputes(of: account))
        } catch {
            result = .failure(error)
        }
        running[account] = nil
        if cached[account] == nil, cached.count >= Self.accountsMax { makeRoom() }
        cached[account] = CachedResult(result: result, age: clock.stopwatch())
        return result
    }

    /// Removes expired results, or else the oldest one.
    private func makeRoom() {
        cached = cached.filter { $0.value.isFresh }
        guard cached.count >= Self.accountsMax,
            let oldest = cached.max(by: { $0.value.age() < $1.value.age() })?.key
        else { return }
        cached[oldest] = nil
    }
}
