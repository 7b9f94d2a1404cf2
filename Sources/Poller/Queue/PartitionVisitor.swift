import Logging

/// Carries results to one partition of the store and brings due items back.
struct PartitionVisitor<Queue: LeaseQueue>: Sendable {
    /// What a handler has come to.
    enum Result: Sendable {
        /// To be recorded; somebody waits for it when it `isNews`.
        case commit(Commit<Queue.Change>, isNews: Bool)
        /// To be given back untouched.
        case release(LeaseRef)
    }

    /// What became of a visit.
    struct Outcome: Sendable {
        /// One for each result, in order; nil where the store could not be asked.
        var results: [CommitResult?]
        /// Nil when none was asked for, or the store could not be asked.
        var claim: Claim<Queue.Item>?
        var isUnavailable = false
    }

    let queue: Queue
    let settings: LeaseWorkerSettings
    let logger: Logger

    /// Makes one visit; never throws: what could not be done stands in the outcome.
    func visit(
        _ plan: Exchange,
        _ results: [Result]
    ) async -> Outcome {
        var outcome = Outcome(results: Array(repeating: nil, count: results.count))
        var commits: [(index: Int, commit: Commit<Queue.Change>)] = []
        var releases: [(index: Int, ref: LeaseRef)] = []
        for (index, result) in results.enumerated() {
            switch result {
            case .commit(let commit, _): commits.append((index, commit))
            case .release(let ref): releases.append((index, ref))
            }
        }
        do throws(StoreError) {
            if !releases.isEmpty {
                let done = try await queue.release(releases.map(\.ref))
                for (release, result) in zip(releases, done) {
                    outcome.results[release.index] = result
                }
            }
            if commits.isEmpty {
                if plan.limit > 0 { outcome.claim = try await queue.claim(request(plan)) }
                return outcome
            }
            let all = commits.map(\.commit)
            let done: [CommitResult]
            if plan.limit > 0 {
                let both = try await queue.commit(all, then: request(plan))
                (done, outcome.claim) = (both.results, both.claim)
            } else {
                done = try await queue.commit(all)
            }
            for (commit, result) in zip(commits, done) { outcome.results[commit.index] = result }
        } catch .unavailable(let reason) {
            logger.warning("store unavailable, tried again", metadata: ["error": "\(reason)"])
            outcome.isUnavailable = true
        } catch {
            logger.error("store refused", metadata: ["error": "\(error)"])
            await commitAlone(commits, error, &outcome)
            outcome.isUnavailable = commits.isEmpty
        }
        return outcome
    }

    /// One commit that the store cannot take must not spoil the others of its batch.
    ///
    /// Nothing but the lease's end helps that one: the item is looked at again then.
    private func commitAlone(
        _ commits: [(index: Int, commit: Commit<Queue.Change>)],
        _ error: StoreError,
        _ outcome: inout Outcome
    ) async {
        for (index, commit) in commits {
            guard commits.count > 1 else {
                outcome.results[index] = .leaseLost
                return
            }
            do throws(StoreError) {
                outcome.results[index] = try await queue.commit([commit]).first
            } catch .unavailable {
                outcome.isUnavailable = true
            } catch {
                logger.error(
                    "commit impossible",
                    metadata: ["item.id": "\(commit.ref.id)", "error": "\(error)"]
                )
                outcome.results[index] = .leaseLost
            }
        }
    }

    private func request(_ plan: Exchange) -> ClaimRequest {
        ClaimRequest(
            partition: plan.partition,
            limit: plan.limit,
            owner: settings.owner,
            lease: settings.lease,
            lane: settings.lane,
            ahead: settings.ahead
        )
    }
}
