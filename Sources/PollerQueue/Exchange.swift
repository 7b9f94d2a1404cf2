import Logging

/// One operation on a partition: results go out, due items come in.
struct Exchange<Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    let partition: Int
    let results: [Result]
    /// What is asked for beside; nil when nothing may be claimed.
    let claim: ClaimRequest?
    /// Only the insurance made this claim.
    let isInsurance: Bool
    /// The claims before it that were not answered.
    var lost: LostClaims?
    /// What the claim may bring, as it was promised.
    var reservation = Places.Reservation.nothing

    /// What a handler has come to, until the store has it.
    struct Result: Sendable {
        /// To be recorded, or to be given back untouched.
        enum Word: Sendable {
            case commit(Commit<Change>)
            case release(LeaseRef)
        }

        private(set) var word: Word
        /// When the lease is given up: from then on the store would refuse it.
        let endsAt: Instant
        /// Somebody waits for it, so it keeps a place until it leaves.
        var holdsPlace = false
        /// When its wait for the next look began; nil when it has none.
        private var decidedAt: Instant?

        /// What a handler has come to, now.
        init(word: Word, endsAt: Instant, holdsPlace: Bool = false, decidedAt: Instant? = nil) {
            self.word = word
            self.endsAt = endsAt
            self.holdsPlace = holdsPlace
            self.decidedAt = decidedAt
        }
    }
}

extension Exchange.Result {
    /// It leaves: what it has waited for company is part of its wait for the next look.
    ///
    /// Otherwise all items of a tick would be due together again, and each a little later every time.
    mutating func leave(now: Instant) {
        holdsPlace = false
        guard let decidedAt, decidedAt < now, case .commit(let commit) = word,
            case .next(let wait) = commit.verdict
        else { return }
        let left = max(wait - decidedAt.duration(to: now), .zero)
        word = .commit(commit.with(.next(after: left)))
        self.decidedAt = now
    }
}

/// Of each partition, the results that wait for an exchange.
struct WaitingResults<Change: Sendable, Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    typealias Result = Exchange<Change, Instant>.Result

    /// So many are enough for an exchange at once; it bounds those that wait, too.
    private static var enough: Int { 64 }

    private var results: [[Result]]

    /// None waits.
    init(partitions: Int) {
        results = Array(repeating: [], count: partitions)
    }

    /// How long a result may gather others when another item waits for its place here, or for its
    /// slot of the lane; less while more than half of our places are taken.
    func gatherSpan(isBusy: Bool) -> Duration { .milliseconds(isBusy ? 3 : 15) }

    /// One more waits; true when it is time for an exchange.
    mutating func add(_ result: Result, to partition: Int) -> Bool {
        results[partition].append(result)
        return results[partition].count >= Self.enough
    }

    /// These could not be recorded, and go before what has come since.
    mutating func putBack(_ again: [Result], to partition: Int) {
        results[partition].insert(contentsOf: again, at: 0)
    }

    /// All that wait leave; `places` are those that they have held until now.
    mutating func take(from partition: Int, now: Instant) -> (results: [Result], places: Int) {
        var taken: [Result] = []
        var places = 0
        swap(&taken, &results[partition])
        for index in taken.indices {
            if taken[index].holdsPlace { places += 1 }
            taken[index].leave(now: now)
        }
        return (taken, places)
    }
}

/// What the store has answered to an ``Exchange``.
struct ExchangeAnswer<Item: Sendable>: Sendable {
    /// One for each result, in order; nil where the store could not be asked.
    var results: [CommitResult?]
    /// Nil when none was asked for, or the store could not be asked.
    var claim: Claim<Item>?
    var isUnavailable = false
    /// Why the store could not be asked; nil when it could, or has refused.
    var outage: String?
}

extension LeaseQueue {
    /// Makes one exchange; never throws: what could not be done stands in the outcome.
    ///
    /// Releases go first, in an operation of their own: they happen when a process drains or finds
    /// its suspects crowded; then what lost claims hold, which happens when the store was away. Commits
    /// and the claim are one operation.
    func exchange<Instant: InstantProtocol & Sendable>(
        _ exchange: Exchange<Change, Instant>,
        _ logger: Logger
    ) async -> ExchangeAnswer<Item> where Instant.Duration == Duration {
        var answer = ExchangeAnswer<Item>(
            results: Array(repeating: nil, count: exchange.results.count)
        )
        var commits: [(index: Int, commit: Commit<Change>)] = []
        var releases: [(index: Int, ref: LeaseRef)] = []
        for (index, result) in exchange.results.enumerated() {
            switch result.word {
            case .commit(let commit): commits.append((index, commit))
            case .release(let ref): releases.append((index, ref))
            }
        }
        do throws(StoreError) {
            if !releases.isEmpty {
                let done = try await release(releases.map(\.ref))
                for (release, result) in zip(releases, done) {
                    answer.results[release.index] = result
                }
            }
            if let lost = exchange.lost {
                let count = try await recall(lost)
                if count > 0 {
                    logger.info("recalls what a lost answer held", metadata: ["count": "\(count)"])
                }
            }
            if commits.isEmpty {
                if let request = exchange.claim { answer.claim = try await claim(request) }
                return answer
            }
            let all = commits.map(\.commit)
            let done: [CommitResult]
            if let request = exchange.claim {
                let both = try await commit(all, then: request)
                (done, answer.claim) = (both.results, both.claim)
            } else {
                done = try await commit(all)
            }
            for (commit, result) in zip(commits, done) { answer.results[commit.index] = result }
        } catch .unavailable(let reason) {
            // Whoever works on tells it once for an outage: every partition meets it.
            logger.debug("store unavailable, tried again", metadata: ["error": "\(reason)"])
            answer.isUnavailable = true
            answer.outage = reason
        } catch {
            logger.error("store refused", metadata: ["error": "\(error)"])
            await commitAlone(commits, &answer, logger)
            answer.isUnavailable = commits.isEmpty
        }
        return answer
    }

    /// One commit that the store cannot take must not spoil the others of its batch.
    ///
    /// Nothing but the lease's end helps that one: the item is looked at again then.
    private func commitAlone(
        _ commits: [(index: Int, commit: Commit<Change>)],
        _ answer: inout ExchangeAnswer<Item>,
        _ logger: Logger
    ) async {
        for (index, commit) in commits {
            guard commits.count > 1 else {
                answer.results[index] = .leaseLost
                return
            }
            do throws(StoreError) {
                answer.results[index] = try await self.commit([commit]).first
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
