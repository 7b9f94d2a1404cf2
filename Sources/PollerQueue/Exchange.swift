import Logging

/// One operation on a partition, which commits results and claims due items.
struct Exchange<Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    let partition: Int
    let results: [Result]
    /// The claim of the exchange; `nil` when nothing may be claimed.
    let claim: ClaimRequest?
    /// Whether only the safety interval caused this claim.
    let isSafetyCheck: Bool
    /// Earlier claims without an answer.
    var lost: LostClaims?
    /// The slots reserved for the claimed items.
    var reservation = WorkerSlots.Reservation.nothing

    /// The result of a handler, until the store has recorded it.
    struct Result: Sendable {
        /// The operation: commit the result, or release the item unchanged.
        enum Operation: Sendable {
            case commit(Commit<Change>)
            case release(LeaseRef)
        }

        private(set) var operation: Operation
        /// The local end of the lease.
        ///
        /// After it the store would reject the result.
        let endsAt: Instant
        /// Whether a caller waits for the result, so that it keeps a slot until it is sent.
        var holdsSlot = false
        /// The start of the wait for the next poll; `nil` without one.
        private var decidedAt: Instant?

        /// Creates a result with the decision time `decidedAt`.
        init(
            operation: Operation,
            endsAt: Instant,
            holdsSlot: Bool = false,
            decidedAt: Instant? = nil
        ) {
            self.operation = operation
            self.endsAt = endsAt
            self.holdsSlot = holdsSlot
            self.decidedAt = decidedAt
        }
    }
}

extension Exchange.Result {
    /// Prepares the result for sending: the time that it waited for other results is subtracted from the wait for the
    /// next poll.
    ///
    /// Otherwise all items of a tick would become due together, and each a little later every time.
    mutating func prepareForSending(now: Instant) {
        holdsSlot = false
        guard let decidedAt, decidedAt < now, case .commit(let commit) = operation,
            case .next(let wait) = commit.verdict
        else { return }
        let left = max(wait - decidedAt.duration(to: now), .zero)
        operation = .commit(commit.with(.next(after: left)))
        self.decidedAt = now
    }
}

/// The results that wait for an exchange, by partition.
struct WaitingResults<Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    typealias Result = Exchange<Change, Instant>.Result

    /// The number of results that starts an exchange at once.
    ///
    /// It also bounds the results that wait.
    private static var enough: Int { 64 }

    private var results: [[Result]]

    /// Creates an empty collection.
    init(partitions: Int) {
        results = Array(repeating: [], count: partitions)
    }

    /// Returns how long a result that keeps its slot may wait for others to be sent with it.
    ///
    /// The slot may be one of this process or of the item's lane. The wait is shorter while more than half of the slots
    /// are taken.
    func gatherSpan(isBusy: Bool) -> Duration { .milliseconds(isBusy ? 3 : 15) }

    /// Adds a result; returns true when the exchange should start at once.
    mutating func add(_ result: Result, to partition: Int) -> Bool {
        results[partition].append(result)
        return results[partition].count >= Self.enough
    }

    /// Puts results that were not recorded before the newer ones.
    mutating func putBack(_ again: [Result], to partition: Int) {
        results[partition].insert(contentsOf: again, at: 0)
    }

    /// Removes all waiting results; `slots` is the number of slots that they held.
    mutating func take(from partition: Int, now: Instant) -> (results: [Result], slots: Int) {
        var taken: [Result] = []
        var slots = 0
        swap(&taken, &results[partition])
        for index in taken.indices {
            if taken[index].holdsSlot { slots += 1 }
            taken[index].prepareForSending(now: now)
        }
        return (taken, slots)
    }
}

/// The store's answer to an ``Exchange``.
struct ExchangeAnswer<Item: Sendable>: Sendable {
    /// One result for each input, in order; `nil` if the store was unreachable.
    var results: [CommitResult?]
    /// The claimed items; `nil` without a claim, or if the store was unreachable.
    var claim: Claim<Item>?
    var isUnavailable = false
    /// The reason why the store was unreachable; `nil` if it answered, even with a refusal.
    var outage: String?
}

extension Exchange {
    /// Performs the exchange.
    ///
    /// It never throws: failures are part of the answer.
    ///
    /// An extension of the exchange, not of the queue: the worker's copy of generic code knows the types of items and
    /// changes, but not that of its queue.
    ///
    /// Releases go first, in a separate operation. They occur when a process drains or has too many suspects. Then lost
    /// claims are recalled, which happens after an outage of the store. Commits and the claim are one operation.
    func perform<Item>(
        on queue: any LeaseQueue<Item, Change>,
        _ logger: Logger
    ) async -> ExchangeAnswer<Item> {
        var answer = ExchangeAnswer<Item>(results: Array(repeating: nil, count: results.count))
        var commits: [(index: Int, commit: Commit<Change>)] = []
        var releases: [(index: Int, ref: LeaseRef)] = []
        for (index, result) in results.enumerated() {
            switch result.operation {
            case .commit(let commit): commits.append((index, commit))
            case .release(let ref): releases.append((index, ref))
            }
        }
        do throws(StoreError) {
            if !releases.isEmpty {
                let done = try await queue.release(releases.map(\.ref))
                for (release, result) in zip(releases, done) {
                    answer.results[release.index] = result
                }
            }
            if let lost {
                let count = try await queue.recall(lost)
                if count > 0 {
                    logger.info("recalls what a lost answer held", metadata: ["count": "\(count)"])
                }
            }
            if commits.isEmpty {
                if let request = claim { answer.claim = try await queue.claim(request) }
                return answer
            }
            let all = commits.map(\.commit)
            let done: [CommitResult]
            if let request = claim {
                let both = try await queue.commit(all, then: request)
                (done, answer.claim) = (both.results, both.claim)
            } else {
                done = try await queue.commit(all)
            }
            for (commit, result) in zip(commits, done) { answer.results[commit.index] = result }
        } catch .unavailable(let reason, _) {
            // The worker logs an outage once, because it affects every partition.
            logger.debug("store unavailable, tried again", metadata: ["error": "\(reason)"])
            answer.isUnavailable = true
            answer.outage = reason
        } catch {
            logger.error("store refused", metadata: ["error": "\(error)"])
            await commitAlone(commits, on: queue, &answer, logger)
            answer.isUnavailable = commits.isEmpty
        }
        return answer
    }

    /// Commits each result separately, so that one impossible commit does not block the others of its batch.
    ///
    /// The failing item is polled again when its lease ends.
    private func commitAlone<Item>(
        _ commits: [(index: Int, commit: Commit<Change>)],
        on queue: any LeaseQueue<Item, Change>,
        _ answer: inout ExchangeAnswer<Item>,
        _ logger: Logger
    ) async {
        for (index, commit) in commits {
            guard commits.count > 1 else {
                answer.results[index] = .leaseLost
                return
            }
            do throws(StoreError) {
                answer.results[index] = try await queue.commit([commit]).first
            } catch .unavailable {
                answer.isUnavailable = true
            } catch {
                logger.error(
                    "commit impossible",
                    metadata: ["item.id": "\(commit.ref.id)", "error": "\(error)"]
                )
                answer.results[index] = .leaseLost
            }
        }
    }
}
