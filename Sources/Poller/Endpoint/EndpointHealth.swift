import Logging
import Metrics
import Synchronization

/// Disables registered endpoints that want nothing more or have accepted nothing for days, and
/// warns before.
///
/// When an endpoint began to fail is in its lane, so that any notifier knows it; which warnings
/// were logged is known to this process alone: at worst each process says each once. A class,
/// because all turns of a notifier share it.
final class EndpointHealth: Sendable {
    private let directory: EndpointDirectory
    private let logger: Logger
    /// At most one entry for each of the ``Endpoint/countMax`` there are.
    private let told = Mutex<[EndpointID: Set<EndpointVerdict.Warning>]>([:])

    /// Watches over the endpoints of `directory`.
    init(directory: EndpointDirectory, logger: Logger) {
        self.directory = directory
        self.logger = logger
    }

    /// Takes in what came of an attempt.
    func record(
        _ result: AttemptResult,
        of endpoint: Endpoint,
        _ trouble: LaneTrouble?,
        now: Timestamp
    ) async {
        if result.outcome == .delivered {
            if trouble != nil { told.withLock { $0[endpoint.id] = nil } }
            return
        }
        guard let verdict = EndpointVerdict(result, trouble, now: now) else { return }
        let metadata: Logger.Metadata = [
            "endpoint": "\(endpoint.id)", "host": "\(endpoint.url.host)",
            "class": "\(result.kind.rawValue)",
        ]
        switch verdict {
        case .warn(let warning, let why):
            let isNew = told.withLock { $0[endpoint.id, default: []].insert(warning).inserted }
            guard isNew else { return }
            logger.warning(
                "endpoint needs its owner",
                metadata: metadata.merging(["why": "\(why)"]) { $1 }
            )
        case .disable(let reason): await disable(endpoint, reason, metadata)
        }
    }

    /// A store that cannot be asked now is asked again after the next failed attempt.
    private func disable(
        _ endpoint: Endpoint,
        _ reason: String,
        _ metadata: Logger.Metadata
    ) async {
        do throws(StoreError) {
            try await directory.disable(endpoint.id, reason: reason)
        } catch {
            logger.warning(
                "endpoint not disabled yet",
                metadata: metadata.merging(["error": "\(error)"]) { $1 }
            )
            return
        }
        told.withLock { $0[endpoint.id] = nil }
        Counter(label: "poller_endpoints_disabled_total").increment()
        logger.error(
            "endpoint disabled",
            metadata: metadata.merging(["reason": "\(reason)"]) { $1 }
        )
    }
}
