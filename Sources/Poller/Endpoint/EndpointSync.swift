package import Logging
import ServiceLifecycle

/// Makes the lanes of deliveries agree with the registry: the lane of a disabled endpoint is
/// paused, and one with a limit of its own has it.
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

    private let directory: EndpointDirectory
    private let lanes: any LaneControl
    private let file: FileEndpoints?
    private let clock: C
    private let logger: Logger

    /// Keeps `lanes`, those of the deliveries, as `directory` has it, and the registry complete
    /// of what `file` describes.
    package init(
        directory: EndpointDirectory,
        lanes: any LaneControl,
        file: FileEndpoints? = nil,
        clock: C,
        logger: Logger
    ) {
        self.directory = directory
        self.lanes = lanes
        self.file = file
        self.clock = clock
        self.logger = logger
    }

    /// Works until shut down or cancelled.
    package func run() async {
        await cancelWhenGracefulShutdown {
            var round = 0
            while !Task.isCancelled {
                await align(isReloading: round % Self.roundsToReload == 0)
                round += 1
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.pace)
            }
        }
    }

    /// One look at the registry, and what follows from it.
    func align(isReloading: Bool) async {
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
        if let file, file.isMissing(in: directory) { await restore(file) }
        for (id, endpoint) in directory.takeChanges() where !Task.isCancelled {
            do {
                try await align(LaneID(endpoint: id), with: endpoint)
            } catch {
                directory.putBack(id)
                logger.debug("lane not changed", metadata: ["endpoint": "\(id)"])
            }
        }
    }

    private func restore(_ file: FileEndpoints) async {
        do {
            let changes = try await file.apply()
            logger.warning(
                "endpoints of the configuration file were lost and are back",
                metadata: ["changes": "\(changes.count)"]
            )
        } catch {
            logger.debug("endpoints not restored", metadata: ["error": "\(error)"])
        }
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
            metadata: ["endpoint": "\(lane)"]
        )
    }
}
