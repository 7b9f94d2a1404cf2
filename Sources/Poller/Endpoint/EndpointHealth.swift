import Logging
import Metrics
package import PollerIdentity
package import PollerQueue
import Synchronization

/// Disables registered endpoints that want nothing more or have accepted nothing for days, and
/// warns before.
///
/// When an endpoint began to fail is in its lane, so that any notifier knows it; which warnings
/// were logged is known to this process alone: at worst each process says each once. A class,
/// because all turns of a notifier share it.
final class EndpointHealth: Sendable {
    private let directory: EndpointDirectory
    private let audit: AuditRecorder?
    private let logger: Logger
    /// At most one entry for each of the ``Endpoint/countMax`` there are.
    private let told = Mutex<[EndpointID: Set<EndpointVerdict.Warning>]>([:])

    /// Watches over the endpoints of `directory`; what it disables is noted in `audit`.
    init(directory: EndpointDirectory, audit: AuditRecorder? = nil, logger: Logger) {
        self.directory = directory
        self.audit = audit
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
        var metadata = endpoint.logged
        metadata["host"] = "\(endpoint.url.host)"
        metadata["class"] = "\(result.kind.rawValue)"
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
        told.withLock { $0[endpoint.id] = nil }
        // Another notifier was faster.
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

/// What an endpoint's owner must be warned of, or what happens to the endpoint, after an attempt
/// that failed.
package enum EndpointVerdict: Hashable, Sendable {
    /// Its owner should look: the level grows with the time and is told once each.
    case warn(Warning, String)
    /// It is told nothing more until somebody enables it.
    case disable(String)

    /// What there is to warn of.
    package enum Warning: Int, Hashable, Sendable, CaseIterable {
        /// It refuses what we send, or its certificate does not hold: time alone mends nothing.
        case refusing
        /// Nothing was accepted for a day.
        case day
        /// Nothing was accepted for three days.
        case threeDays
    }

    /// Attempts in a row that are refused before the owner is warned.
    package static let refusalsMax = 10
    /// Without a success an endpoint is told nothing more, counted from its first failed attempt.
    package static let patience = Duration.seconds(5 * 86_400)
    private static let day = Duration.seconds(86_400)

    /// What follows from a failed attempt; nil when nothing does.
    ///
    /// `trouble` is that of the endpoint when the delivery was claimed.
    package init?(_ result: AttemptResult, _ trouble: LaneTrouble?, now: Timestamp) {
        if result.kind == .gone {
            self = .disable("it answered 410: it wants no more")
            return
        }
        guard result.outcome != .delivered, let trouble else { return nil }
        let span = now - trouble.since
        let since = "since \(trouble.since)"
        if span >= Self.patience {
            self = .disable("nothing was accepted \(since), the last failure: \(result.reason)")
        } else if span >= Self.day * 3 {
            self = .warn(
                .threeDays,
                "nothing was accepted \(since); it is disabled after five days"
            )
        } else if span >= Self.day {
            self = .warn(.day, "nothing was accepted \(since); it is disabled after five days")
        } else if result.kind.needsItsOwner, trouble.failures + 1 >= Self.refusalsMax {
            self = .warn(.refusing, "\(trouble.failures + 1) attempts in a row: \(result.reason)")
        } else {
            return nil
        }
    }
}

/// Sends an endpoint a signed test event, at once and past the queue.
package struct EndpointProbe: Sendable {
    private let channels: [any DeliveryChannel]

    /// Asks through the channel that serves the URL's scheme.
    package init(channels: [any DeliveryChannel]) {
        self.channels = channels
    }

    /// Sends an `endpoint.test` event, signed as every other; also to a disabled endpoint.
    ///
    /// Nil when nothing here delivers to such URLs.
    package func ask(_ endpoint: Endpoint, at now: Timestamp) async -> AttemptResult? {
        guard let channel = channels.first(where: { $0.schemes.contains(endpoint.url.scheme) }),
            let event = Event.test(of: endpoint, at: now)
        else { return nil }
        return await channel.deliver(event, to: DeliveryTarget(endpoint), attempt: 1)
    }

    /// The message about an event to a target, as its channel composes it now; nothing is sent.
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
