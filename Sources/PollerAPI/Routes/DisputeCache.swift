import Poller
import PollerIdentity

/// The disputes that were read within the last minute.
///
/// *Cost*: an account is read once a minute at most, and after a failure once in ten seconds. Requests that arrive
/// during a read wait for its result. A request reads at most ``readsMax`` accounts, ``atOnce`` at a time, and begins
/// no read after ``patience``. The results are kept, and the next request continues with the remaining accounts.
///
/// An actor, because requests share it.
actor DisputeCache {
    /// How long a result is shown.
    private static let span = Duration.seconds(60)
    /// How long a failure is shown.
    private static let failureSpan = Duration.seconds(10)
    /// Accounts that are kept; above that the oldest are removed.
    private static let accountsMax = 1000
    /// Accounts that a request reads from the upstream.
    static let readsMax = 200
    /// Accounts read at a time by one request.
    static let atOnce = 8
    /// After this a request begins no further read: a person waits for it.
    private static let patience = Duration.seconds(15)

    /// A result, and its age.
    struct Reading: Sendable {
        let result: Result<[AccountDispute], DisputeReadFailure>
        let age: Duration
    }

    /// The watch of a dispute; empty for a payment that is not watched.
    struct Place: Sendable {
        var key: WatchKey?
        var order: OrderID?
    }

    /// The result of an account, with the watches that were found for its disputes.
    private struct Kept {
        let result: Result<[AccountDispute], DisputeReadFailure>
        let age: @Sendable () -> Duration
        var places: [String: Place] = [:]

        var isFresh: Bool {
            switch result {
            case .success: age() < DisputeCache.span
            case .failure: age() < DisputeCache.failureSpan
            }
        }
    }

    private let book: any DisputeBook
    private let clock: any Clock<Duration>
    private var kept: [AccountID: Kept] = [:]
    private var running: [AccountID: Task<Result<[AccountDispute], DisputeReadFailure>, Never>] =
        [:]

    init(book: any DisputeBook, clock: any Clock<Duration>) {
        self.book = book
        self.clock = clock
    }

    /// The accounts with disputes that can be read.
    nonisolated var accounts: [AccountID] { book.disputedAccounts }

    /// The disputes of some accounts; accounts that a later request will read are missing.
    func disputes(of accounts: [AccountID]) async -> [AccountID: Reading] {
        var known: [AccountID: Reading] = [:]
        var left: [AccountID] = []
        for account in accounts {
            if let reading = fresh(account) {
                known[account] = reading
            } else if left.count < Self.readsMax {
                left.append(account)
            }
        }
        let (begun, unread, waited) = (known, left, clock.stopwatch())
        return await withTaskGroup(of: (AccountID, Reading).self) { group in
            var found = begun
            for (index, account) in unread.enumerated() {
                if index >= Self.atOnce, let done = await group.next() { found[done.0] = done.1 }
                guard waited() < Self.patience else { break }
                group.addTask { (account, await self.disputes(of: account)) }
            }
            for await done in group { found[done.0] = done.1 }
            return found
        }
    }

    /// The disputes of an account.
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

    /// The watch of a dispute, found since the last read of its account; nil if it was not searched for yet.
    func place(of dispute: AccountDispute) -> Place? {
        kept[dispute.account]?.places[dispute.id]
    }

    /// Keeps the watch that was found for a dispute.
    func keep(_ place: Place, of dispute: AccountDispute) {
        kept[dispute.account]?.places[dispute.id] = place
    }

    private func fresh(_ account: AccountID) -> Reading? {
        guard let kept = kept[account], kept.isFresh else { return nil }
        return Reading(result: kept.result, age: kept.age())
    }

    private func read(
        _ account: AccountID
    ) async -> Result<[AccountDispute], DisputeReadFailure> {
        let result: Result<[AccountDispute], DisputeReadFailure>
        do throws(DisputeReadFailure) {
            result = .success(try await book.disputes(of: account))
        } catch {
            result = .failure(error)
        }
        running[account] = nil
        if kept[account] == nil, kept.count >= Self.accountsMax { makeRoom() }
        kept[account] = Kept(result: result, age: clock.stopwatch())
        return result
    }

    /// Removes expired results, or else the oldest one.
    private func makeRoom() {
        kept = kept.filter { $0.value.isFresh }
        guard kept.count >= Self.accountsMax,
            let oldest = kept.max(by: { $0.value.age() < $1.value.age() })?.key
        else { return }
        kept[oldest] = nil
    }
}
