import Logging
import Poller
import PollerRedis
import ServiceLifecycle

/// Sees to it that lists can be read in the order of creation, also of a store that earlier releases have filled or
/// work on (``CreationIndex``).
struct CreationIndexUpkeep: Service {
    /// The pause between two rounds, and how often a complete index says so.
    private static let pause = Duration.seconds(30)
    /// A store whose last word is older than this was without this release meanwhile.
    private static let trust = Duration.seconds(600)
    /// For how long one process fills the index before another may; it says so anew at each step.
    private static let turn = Duration.seconds(60)

    let index: CreationIndex
    let members: any Membership
    let owner: OwnerID
    let clock: ContinuousClock
    let logger: Logger

    /// Works until shut down or cancelled.
    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do throws(StoreError) {
                    try await round()
                } catch {
                    // A store that is away is reported by everything else.
                    logger.debug("index by creation not kept", metadata: ["error": "\(error)"])
                }
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pause)
            }
        }
    }

    private func round() async throws(StoreError) {
        let known = try await index.completeAt()
        if try await hasFormerReleases() {
            guard known != nil else { return }
            try await index.note(completeAt: nil)
            logger.info(
                "lists are in no order while a process of an earlier release works on the store"
            )
            return
        }
        let now = WallClock.now()
        if let known, now < known + Self.trust {
            try await index.note(completeAt: now)
            return
        }
        guard try await index.take(as: owner, for: Self.turn) else { return }
        let count: Int?
        do throws(StoreError) {
            count = try await index.fill { () throws(StoreError) in
                if Task.isCancelled { return false }
                return try await index.take(as: owner, for: Self.turn)
            }
        } catch {
            await release()
            throw error
        }
        await release()
        guard let count, try await !hasFormerReleases() else { return }
        try await index.note(completeAt: WallClock.now())
        if known == nil {
            logger.info("lists are in the order of creation", metadata: ["indexed": "\(count)"])
        }
    }

    /// Gives the turn back, in a task of its own: a process that is shut down must not keep it for a minute.
    private func release() async {
        await Task { try? await index.release(as: owner) }.value
    }

    private func hasFormerReleases() async throws(StoreError) -> Bool {
        try await members.members().contains { !$0.indexesCreation }
    }
}
