package import Logging
import PollerIdentity
package import PollerQueue
import ServiceLifecycle
import Synchronization

/// Makes the lanes of deliveries agree with the registry: the lane of a disabled endpoint is
/// paused, one with a limit of its own has it, and of one that was removed nothing is left that somebody
/// would have to look at.
///
/// The registry and the lanes live in different slots of the store, so that no operation changes
/// both. Whoever changes an endpoint changes the registry alone, and every notifier brings the
/// lanes into line, again and again: a crash at any point delays that by a second. Hence pausing
/// a lane of deliveries by other means does not last. In the same way the endpoints of the
/// configuration file come back when the store has lost them.
package struct EndpointSync<C: Clock>: Service where C.Duration == Duration {
    /// How long a change may go unnoticed while no event comes.
    static var pace: Duration { .seconds(1) }
    /// Every ten minutes all lanes are compared: a failover of Redis may have undone a change.
    static var roundsToReload: Int { 600 }

    /// Deliveries of a removed endpoint that are read at a time.
    private static var page: Int { 200 }

    private let directory: EndpointDirectory
    private let lanes: any LaneControl
    private let deliveries: (any DeliveryQueue & DeliveryBook)?
    private let file: @Sendable () -> FileEndpoints?
    private let clock: C
    private let logger: Logger
    private let told = ToldFailure()

    /// Keeps `lanes`, those of `deliveries`, as `directory` has it, and the registry complete of what `file`
    /// describes now.
    ///
    /// Without `deliveries` dead letters of removed endpoints stay.
    package init(
        directory: EndpointDirectory,
        lanes: any LaneControl,
        deliveries: (any DeliveryQueue & DeliveryBook)? = nil,
        file: @escaping @Sendable () -> FileEndpoints? = { nil },
        clock: C,
        logger: Logger
    ) {
        self.directory = directory
        self.lanes = lanes
        self.deliveries = deliveries
        self.file = file
        self.clock = clock
        self.logger = logger
    }

    /// Works until shut down or cancelled.
    package func run() async {
        await cancelWhenGracefulShutdown {
            var round = 0
            while !Task.isCancelled {
                await align(isReloading: round % Self.roundsToReload == 0, isFirst: round == 0)
                round += 1
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }

    /// One look at the registry, and what follows from it.
    ///
    /// A reload names all that were removed lately once more; only the first one can find something of them.
    func align(isReloading: Bool, isFirst: Bool = false) async {
        do {
            if isReloading {
                try await directory.reload()
            } else {
                try await directory.refresh()
            }
        } catch {
            logger.debug("endpoints unreadable", metadata: ["error": "\(error)"])
            return
        }
        if let file = file(), file.isMissing(in: directory) { await restore(file) }
        let changes = Dictionary(grouping: directory.takeChanges()) {
            lanes.partition(of: LaneID(endpoint: $0.id))
        }
        // Beside each other: one that is away holds up its own endpoints alone.
        _ = await asking(Array(changes.keys)) { partition in
            await self.follow(changes[partition] ?? [], isClearing: isFirst || !isReloading)
        }
    }

    /// Follows the changes of the endpoints of one partition.
    private func follow(
        _ changes: [(id: EndpointID, endpoint: Endpoint?)],
        isClearing: Bool
    ) async {
        for (index, (id, endpoint)) in changes.enumerated() where !Task.isCancelled {
            let began = clock.now
            do throws(StoreError) {
                try await align(LaneID(endpoint: id), with: endpoint)
                if endpoint == nil, isClearing { try await clear(id) }
            } catch {
                directory.putBack(id)
                logger.debug("lane not changed", metadata: ["endpoint": "\(id)"])
                guard clock.hasWaited(since: began) else { continue }
                // Each of the others would wait as long.
                for later in changes[(index + 1)...] { directory.putBack(later.id) }
                return
            }
        }
    }

    private func restore(_ file: FileEndpoints) async {
        var count = 0
        var failure: StoreError?
        do throws(StoreError) {
            try await file.restore { _ in count += 1 }
        } catch {
            failure = error
        }
        if count > 0 {
            logger.warning(
                "endpoints of the configuration file were missing and are there",
                metadata: ["changes": "\(count)"]
            )
        }
        // A second later it is tried again.
        let isNews = told.isNews(failure)
        guard let failure else { return }
        logger.log(
            level: isNews ? .error : .debug,
            "endpoints of the configuration file not restored",
            metadata: ["error": "\(failure)"]
        )
    }

    /// Leaves nothing of a removed endpoint that stands in lists, counts and checks: what waits for it is claimed
    /// now, whatever holds its lane, and ends there; what it was not told is nobody's concern any more.
    ///
    /// Every notifier does so that sees the removal, or starts later: again is harmless.
    private func clear(_ id: EndpointID) async throws(StoreError) {
        let lane = LaneID(endpoint: id)
        if let report = try await lanes.lane(lane), report.heldUntil != nil || report.failures > 0 {
            try await lanes.resume(lane)
        }
        guard let deliveries else { return }
        // Due only at their next attempt, in hours perhaps.
        try await dismiss(.failing, of: id) { revisions throws(StoreError) in
            _ = try await deliveries.revise(revisions, endingHolds: true)
        }
        try await dismiss(.dead, of: id) { revisions throws(StoreError) in
            _ = try await deliveries.dismiss(revisions)
        }
    }

    /// Dismisses what the deliveries of an endpoint that stand so have given up; one that somebody holds ends
    /// there.
    private func dismiss(
        _ state: DeliverySnapshot.State,
        of id: EndpointID,
        _ change: ([DeliveryRevision]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        guard let deliveries else { return }
        var cursor: String?
        repeat {
            let query = DeliveryQuery(endpoint: id, state: state, limit: Self.page, cursor: cursor)
            let page = try await deliveries.deliveries(query)
            let revisions = page.items.map { snapshot in
                var state = snapshot.delivery.state
                state.dismiss()
                return DeliveryRevision(id: snapshot.id, from: snapshot.delivery.state, to: state)
            }
            if !revisions.isEmpty { try await change(revisions) }
            cursor = page.next
        } while cursor != nil && !Task.isCancelled
    }

    private func align(_ lane: LaneID, with endpoint: Endpoint?) async throws(StoreError) {
        let report = try await lanes.lane(lane)
        let isPaused = endpoint?.isEnabled == false
        if report?.limit != endpoint?.limit { try await lanes.limit(lane, to: endpoint?.limit) }
        guard (report?.isPaused ?? false) != isPaused else { return }
        if isPaused {
            try await lanes.pause(lane)
        } else {
            try await lanes.resume(lane)
        }
        logger.info(
            isPaused ? "endpoint paused" : "endpoint goes on",
            metadata: endpoint?.logged ?? ["endpoint": "\(lane)"]
        )
    }
}

/// Tells which failure of something that is tried again and again a person must hear of: each once.
///
/// A class, because whoever tries is a value.
package final class ToldFailure: Sendable {
    private let last = Mutex<StoreError?>(nil)

    /// Nothing has failed.
    package init() {}

    /// Whether a failure is to be told; nil when it went well, after which the same is news again.
    ///
    /// A store that is away is told of by everything else, and passes.
    package func isNews(_ failure: StoreError?) -> Bool {
        if case .unavailable? = failure { return false }
        return last.withLock { last in
            defer { last = failure }
            return failure != nil && failure != last
        }
    }
}
