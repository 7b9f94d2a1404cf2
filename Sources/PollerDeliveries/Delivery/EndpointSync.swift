package import Logging
import PollerIdentity
package import PollerQueue
import ServiceLifecycle
import Synchronization

/// Reconciles the lanes of deliveries with the registry.
///
/// The lane of a disabled endpoint is paused, an endpoint's own limit is applied, and a removed endpoint leaves nothing
/// that an operator would have to check.
///
/// The registry and the lanes are in different slots of the store, so no operation changes both. A request changes only
/// the registry, and every notifier repeatedly updates the lanes: a crash delays that by a second. So a pause of a
/// delivery lane by other means does not last. In the same way the endpoints of the configuration file are restored
/// after the store has lost them.
package struct EndpointSync<C: Clock>: Service where C.Duration == Duration {
    /// The longest time until a change is noticed without events.
    static var pace: Duration { .seconds(1) }
    /// The number of rounds between two comparisons of all lanes: ten minutes at one round a second.
    ///
    /// A failover of Redis may have undone a change.
    static var roundsToReload: Int { 600 }

    /// The number of deliveries of a removed endpoint that are read at a time.
    private static var page: Int { 200 }

    private let directory: EndpointDirectory
    private let lanes: any LaneControl
    private let deliveries: (any DeliveryQueue & DeliveryOperations)?
    private let file: @Sendable () -> FileEndpoints?
    private let clock: C
    private let logger: Logger
    private let failureFilter = FailureReportFilter()

    /// Creates a sync of `lanes`, the lanes of `deliveries`, with `directory`, which also keeps the endpoints of `file`
    /// registered.
    ///
    /// Without `deliveries` the dead letters of removed endpoints stay.
    package init(
        directory: EndpointDirectory,
        lanes: any LaneControl,
        deliveries: (any DeliveryQueue & DeliveryOperations)? = nil,
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

    /// Works until shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            var round = 0
            while !Task.isCancelled {
                await align(isReloading: round % Self.roundsToReload == 0, isFirst: round == 0)
                round += 1
                // If the sleep is cancelled, the loop's condition ends the loop.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }

    /// Reads the registry once and applies its changes.
    ///
    /// A reload returns all recently removed endpoints again; only the first one can find remains of them.
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
        // Concurrent, so that an unavailable partition delays only its own endpoints.
        _ = await requestAll(Array(changes.keys)) { partition in
            await self.follow(changes[partition] ?? [], isClearing: isFirst || !isReloading)
        }
    }

    /// Applies the changes of the endpoints of one partition.
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
                "missing endpoints of the configuration file restored",
                metadata: ["changes": "\(count)"]
            )
        }
        // The next round tries again after a second.
        let shouldReport = failureFilter.shouldReport(failure)
        guard let failure else { return }
        logger.log(
            level: shouldReport ? .error : .debug,
            "endpoints of the configuration file not restored",
            metadata: ["error": "\(failure)"]
        )
    }

    /// Clears the remains of a removed endpoint from lists, counts and checks.
    ///
    /// Pending deliveries are claimed now, despite any hold of the lane, and end. Undelivered events are dismissed.
    /// Every notifier that sees the removal or starts later does so; a repeat has no effect.
    private func clear(_ id: EndpointID) async throws(StoreError) {
        let lane = LaneID(endpoint: id)
        if let report = try await lanes.lane(lane), report.heldUntil != nil || report.failures > 0 {
            try await lanes.resume(lane)
        }
        guard let deliveries else { return }
        // They are due only at their next attempt, perhaps in hours.
        try await dismiss(.failing, of: id) { revisions throws(StoreError) in
            _ = try await deliveries.revise(revisions, endingHolds: true)
        }
        try await dismiss(.dead, of: id) { revisions throws(StoreError) in
            _ = try await deliveries.dismiss(revisions)
        }
    }

    /// Dismisses the dead letters of an endpoint's deliveries in this state; a leased delivery ends with its attempt.
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
            isPaused ? "endpoint paused" : "endpoint resumed",
            metadata: endpoint?.logged ?? ["endpoint": "\(lane)"]
        )
    }
}

/// Decides which failure of a repeated operation is reported: each one once.
///
/// A class, because its users are values.
package final class FailureReportFilter: Sendable {
    private let last = Mutex<StoreError?>(nil)

    /// Creates a value without failures.
    package init() {}

    /// Whether a failure is to be reported; `nil` is a success, after which the same failure is reported again.
    ///
    /// An unavailable store is not reported here, because every other part reports it, and it passes.
    package func shouldReport(_ failure: StoreError?) -> Bool {
        if case .unavailable? = failure { return false }
        return last.withLock { last in
            defer { last = failure }
            return failure != nil && failure != last
        }
    }
}
