import Poller

/// The disputes that were read a moment ago.
///
/// *Cost*: an account is read once a minute at most, one that cannot be read once in ten seconds. Who asks while a
/// read runs waits for that one. A request has at most ``readsMax`` accounts read, ``atOnce`` at a time, and begins
/// none after ``patience``: what it has read is kept, and the next request goes on from there.
///
/// An actor, because requests share it.
actor DisputeCache {
    /// How long what was read is shown.
    private static let span = Duration.seconds(60)
    /// How long a failure is shown.
    private static let failureSpan = Duration.seconds(10)
    /// Accounts that are kept; beyond them the oldest are let go of.
    private static let accountsMax = 1000
    /// Accounts that a request has read from the upstream.
    static let readsMax = 200
    /// Accounts read at a time by one request.
    static let atOnce = 8
    /// After this a request has no further account read: a person waits for it.
    private static let patience = Duration.seconds(15)

    /// What was read, and how long ago.
    struct Reading: Sendable {
        let result: Result<[AccountDispute], DisputeReadFailure>
        let age: Duration
    }

    /// The watch that a dispute is about; empty for a payment that is not watched.
    struct Place: Sendable {
        var key: WatchKey?
        var order: OrderID?
    }

    /// What was read of an account, with the watches that were found for its disputes.
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

    /// The accounts whose disputes can be read.
    nonisolated var accounts: [AccountID] { book.disputedAccounts }

    /// The disputes of some accounts; those are missing that a later request will have.
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
            // Of its own: who asked first may leave, and the others still wait.
            read = Task { await self.read(account) }
            running[account] = read
        }
        return Reading(result: await read.value, age: .zero)
    }

    /// The watch of a dispute, as it was found since the account was read; nil while it was not looked for.
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

    /// Lets go of what is shown no more, or else of what was read first.
    private func makeRoom() {
        kept = kept.filter { $0.value.isFresh }
        guard kept.count >= Self.accountsMax,
            let oldest = kept.max(by: { $0.value.age() < $1.value.age() })?.key
        else { return }
        kept[oldest] = nil
    }
}
