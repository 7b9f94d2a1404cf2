import Logging
import Metrics
package import PollerIdentity
import PollerOperations
package import PollerQueue
package import PollerWatches
import Synchronization

/// Disables registered endpoints that answered 410 or have accepted nothing for days, and warns before.
///
/// The start of an endpoint's failures is stored in its lane, so that every notifier knows it. The logged warnings are
/// known only to this process, so at worst each process logs each warning once.
final class EndpointHealth: Sendable {
    private let directory: EndpointDirectory
    private let audit: AuditRecorder?
    private let logger: Logger
    /// The logged warnings, of at most ``Endpoint/countMax`` endpoints.
    private let warned = Mutex<[EndpointID: Set<EndpointVerdict.Warning>]>([:])

    /// Creates a monitor of the endpoints of `directory`; `audit` records disabled ones.
    init(directory: EndpointDirectory, audit: AuditRecorder? = nil, logger: Logger) {
        self.directory = directory
        self.audit = audit
        self.logger = logger
    }

    /// Processes the result of an attempt.
    func record(
        _ result: AttemptResult,
        of endpoint: Endpoint,
        _ outage: LaneOutage?,
        now: Timestamp
    ) async {
        if result.outcome == .delivered {
            if outage != nil { warned.withLock { $0[endpoint.id] = nil } }
            return
        }
        guard let verdict = EndpointVerdict(result, outage, now: now) else { return }
        var metadata = endpoint.logged
        metadata["host"] = "\(endpoint.url.host)"
        metadata["class"] = "\(result.kind.rawValue)"
        switch verdict {
        case .warn(let warning, let why):
            let isNew = warned.withLock { warned in
                // Entries of removed endpoints remain until then. At worst a warning is logged again.
                if warned.count >= Endpoint.countMax, warned[endpoint.id] == nil { warned = [:] }
                return warned[endpoint.id, default: []].insert(warning).inserted
            }
            guard isNew else { return }
            logger.warning(
                "endpoint needs attention from its owner",
                metadata: metadata.merging(["why": "\(why)"]) { $1 }
            )
        case .disable(let reason): await disable(endpoint, reason, metadata)
        }
    }

    /// Disables an endpoint.
    ///
    /// If the store fails, the next failed attempt tries again.
    private func disable(
        _ endpoint: Endpoint,
        _ reason: String,
        _ metadata: Logger.Metadata
    ) async {
        let isDone: Bool
        do throws(StoreError) {
            isDone = try await directory.disable(endpoint.id, reason: reason)
        } catch {
            logger.warning(
                "endpoint not disabled yet",
                metadata: metadata.merging(["error": "\(error)"]) { $1 }
            )
            return
        }
        warned.withLock { $0[endpoint.id] = nil }
        // Another notifier was first.
        guard isDone else { return }
        let (before, after) = AuditFacts.difference(
            AuditFacts(["state": "enabled"]),
            AuditFacts(["state": "disabled", "disabled_reason": reason])
        )
        await audit?.record(
            AuditedChange(
                by: .pollerd,
                action: "disableEndpoint",
                target: AuditTarget(endpoint),
                account: endpoint.account,
                before: before,
                after: after
            )
        )
        Counter(label: "poller_endpoints_disabled_total").increment()
        logger.error(
            "endpoint disabled",
            metadata: metadata.merging(["reason": "\(reason)"]) { $1 }
        )
    }
}

/// The consequence of a failed attempt for an endpoint: a warning to its owner, or its deactivation.
package enum EndpointVerdict: Hashable, Sendable {
    /// The owner must act: each level, which rises with time, is reported once.
    case warn(Warning, String)
    /// The endpoint is disabled until it is enabled again.
    case disable(String)

    /// The levels of warnings.
    package enum Warning: Int, Hashable, Sendable, CaseIterable {
        /// It refuses the requests, or its certificate is invalid, which time alone does not fix.
        case refusing
        /// Nothing was accepted for a day.
        case day
        /// Nothing was accepted for three days.
        case threeDays
    }

    /// The number of consecutive refusals before the owner is warned.
    package static let refusalsMax = 10
    /// The time without a success, from the first failed attempt, after which an endpoint is disabled.
    package static let patience = Duration.seconds(5 * 86_400)
    private static let day = Duration.seconds(86_400)

    /// Derives the consequence of a failed attempt; `nil` for none.
    ///
    /// `outage` is the endpoint's failures when the delivery was claimed.
    package init?(_ result: AttemptResult, _ outage: LaneOutage?, now: Timestamp) {
        if result.kind == .gone {
            self = .disable("it answered 410 and accepts no more events")
            return
        }
        // A local error says nothing about the endpoint.
        guard result.outcome != .delivered, !result.isOwnError, let outage else { return nil }
        let span = now - outage.since
        let since = "since \(outage.since)"
        if span >= Self.patience {
            self = .disable("nothing was accepted \(since), the last failure: \(result.reason)")
        } else if span >= Self.day * 3 {
            self = .warn(
                .threeDays,
                "nothing was accepted \(since); it is disabled after five days"
            )
        } else if span >= Self.day {
            self = .warn(.day, "nothing was accepted \(since); it is disabled after five days")
        } else if result.kind.needsOwnerAction, outage.failures + 1 >= Self.refusalsMax {
            self = .warn(.refusing, "\(outage.failures + 1) attempts in a row: \(result.reason)")
        } else {
            return nil
        }
    }
}

/// Sends a signed test event to an endpoint, at once and without the queue.
package struct EndpointProbe: Sendable {
    private let channels: [any DeliveryChannel]

    /// Creates a probe that uses the channel of the URL's scheme.
    package init(channels: [any DeliveryChannel]) {
        self.channels = channels
    }

    /// Sends an `endpoint.test` event, signed like any other, even to a disabled endpoint.
    ///
    /// `nil` when no channel of this process serves such URLs.
    package func ask(_ endpoint: Endpoint, at now: Timestamp) async -> AttemptResult? {
        guard let channel = channels.first(where: { $0.schemes.contains(endpoint.url.scheme) }),
            let event = Event.test(of: endpoint, at: now)
        else { return nil }
        return await channel.deliver(event, to: DeliveryTarget(endpoint), attempt: 1)
    }

    /// Composes the message about an event to a target, without sending it.
    ///
    /// The outer `nil`: no channel here delivers to such URLs. The inner `nil`: the channel sends nothing to the
    /// recipient for this event.
    package func message(of event: Event, to target: DeliveryTarget) async -> SentMessage?? {
        guard let channel = channels.first(where: { $0.schemes.contains(target.url.scheme) }) else {
            return nil
        }
        return .some(await channel.message(of: event, to: target))
    }
}
