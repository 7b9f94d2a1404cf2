import Logging
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerWatches

/// The metrics and log messages of a poll.
extension PollHandler {
    /// Counts and logs a poll.
    ///
    /// `trace` is the trace of the watch. A change has its own span in it.
    func report(
        _ context: PollContext,
        _ result: PollResult,
        _ decision: Decision<WatchChange>,
        _ trace: TraceContext?
    ) {
        metrics.count(
            result,
            lag: context.polledAt - context.due,
            took: context.now - context.polledAt
        )
        // A closure, because building this text costs as much as the decision. It is called only when the level is
        // logged.
        func metadata() -> Logger.Metadata { self.metadata(context, result, decision, trace) }
        if decision.change.event != nil {
            metrics.count(changes: 1)
            logger.info("change observed", metadata: metadata())
        } else if case .unserved = result {
            logger.warning("not polled: not configured in this worker", metadata: metadata())
        } else if result.isRefusal {
            logger.error("credentials refused by the upstream", metadata: metadata())
        } else {
            logger.debug("polled", metadata: metadata())
        }
    }

    private func metadata(
        _ context: PollContext,
        _ result: PollResult,
        _ decision: Decision<WatchChange>,
        _ trace: TraceContext?
    ) -> Logger.Metadata {
        let watch = context.watch
        var metadata: Logger.Metadata = [
            "source": "\(watch.key.source)", "account": "\(watch.key.account)",
            "attempt": "\(watch.state.attempts + 1)", "result": "\(result.name)",
        ]
        if let error = decision.change.lastError { metadata["error"] = "\(error)" }
        if let event = decision.change.event {
            metadata["event.id"] = "\(event.id)"
            metadata["status"] = "\(event.status?.description ?? "unknown")"
            metadata["seq"] = "\(event.seq)"
        }
        metadata.add(decision.change.event.map(\.trace) ?? trace)
        return metadata
    }
}

extension PollResult {
    /// Whether our credentials were refused.
    fileprivate var isRefusal: Bool {
        switch self {
        case .unauthorized, .revoked: true
        default: false
        }
    }
}
