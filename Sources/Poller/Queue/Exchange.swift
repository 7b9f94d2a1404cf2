import Logging

/// One operation on a partition: results go out, due items come in.
struct Exchange<Change: Sendable, Instant: Sendable>: Sendable {
    let partition: Int
    let results: [Result]
    /// What is asked for beside; nil when nothing may be claimed.
    let claim: ClaimRequest?
    /// Only the insurance made this claim.
    let isInsurance: Bool

    /// What a handler has come to, until the store has it.
    struct Result: Sendable {
        /// To be recorded, or to be given back untouched.
        enum Word: Sendable {
            case commit(Commit<Change>)
            case release(LeaseRef)
        }

        let word: Word
        /// When the lease is given up: from then on the store would refuse it.
        let endsAt: Instant
    }
}

/// What the store has answered to an ``Exchange``.
struct ExchangeAnswer<Item: Sendable>: Sendable {
    /// One for each result, in order; nil where the store could not be asked.
    var results: [CommitResult?]
    /// Nil when none was asked for, or the store could not be asked.
    var claim: Claim<Item>?
    var isUnavailable = false
}

extension LeaseQueue {
    /// Makes one exchange; never throws: what could not be done stands in the outcome.
    ///
    /// Releases go first, in an operation of their own: they happen when a process drains or finds
    /// its suspects crowded. Commits and the claim are one operation.
    func exchange<Instant>(
        _ exchange: Exchange<Change, Instant>,
        _ logger: Logger
    ) async -> ExchangeAnswer<Item> {
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
            logger.warning("store unavailable, tried again", metadata: ["error": "\(reason)"])
            answer.isUnavailable = true
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
