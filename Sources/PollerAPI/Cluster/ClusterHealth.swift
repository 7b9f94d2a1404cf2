import PollerDeliveries
import PollerIdentity
import PollerQueue
import SafeNumbers

/// The doctor's results for a cluster status.
///
/// Each problem has a recommended action.
struct ClusterHealth {
    /// The delay of an overdue watch that is a failure: a customer at a counter has left by then.
    ///
    /// A delay up to ``ClusterStatus/lateAfter`` is none.
    private static let overdueFailure = Duration.seconds(60)
    /// The maximum number of waiting events in a burst.
    ///
    /// A notifier marks thousands per second.
    private static let undeliveredMax = 1000
    /// The maximum number of lanes named in one result.
    private static let namedMax = 3

    let status: ClusterStatus
    /// The failures in the delivery lists; `nil` if there are too many deliveries to read for a check.
    var failures: DeliveryFailures?
    /// The endpoints with an open circuit, as far as found, each with the reason.
    var down: [String] = []
    /// The watches that cannot be read because the upstream rejects the credentials.
    var unauthorized = UnauthorizedWatches()

    /// Every result by name, in the order that is useful to an operator.
    var results: [(name: String, result: HealthResult)] {
        [
            ("workers", workers), ("notifiers", notifiers), ("backlog", backlog), ("lanes", lanes),
            ("credentials", unauthorized.result), ("quarantine", quarantine), ("outbox", outbox),
            ("deliveries", deliveries),
        ]
    }

    private var watches: StoreStats { status.watches }

    var workers: HealthResult {
        let open = watches.pending + watches.leased
        guard status.workers == 0 else {
            return .ok("\(status.workers) polling, \(open) open watches")
        }
        let action = "start one with pollerd worker, on as many machines as you like"
        return open > 0
            ? .failed("none is alive and \(open) watches wait", action: action)
            : .warning("none is alive", action: action)
    }

    /// The notifiers.
    ///
    /// Workers without a notifier are a failure, because no event is delivered.
    var notifiers: HealthResult {
        let open = status.deliveries.pending + status.deliveries.leased
        guard status.notifiers == 0 else {
            return .ok("\(status.notifiers) delivering, \(open) open deliveries")
        }
        let action = "start one with pollerd notifier, on as many machines as you like"
        guard open == 0 else {
            return .failed("none delivers and \(open) deliveries wait", action: action)
        }
        return HealthResult(
            status.members.isEmpty ? .warning : .failed,
            "none delivers",
            action: action
        )
    }

    /// The overdue watches.
    ///
    /// Paused lanes are left out, because an operator paused them on purpose.
    var backlog: HealthResult {
        let moving = status.lanes.filter { $0.state != .paused }
        let oldest = moving.map(\.overdueFor).max() ?? .zero
        let count = moving.reduce(0) { $0.addingSaturating($1.overdue) }
        guard count > 0 else {
            let paused = status.lanes.reduce(0) { $0.addingSaturating($1.overdue) }
            return .ok(paused > 0 ? "\(paused) overdue, all in paused lanes" : "nothing is overdue")
        }
        let text = "\(count) overdue, the oldest for \(Self.text(oldest))"
        guard oldest > status.lateAfter else { return .ok(text) }
        let action =
            status.workers > 0
            ? "check pollerctl lane list for lanes at their limit, then pollerctl worker "
                + "list: start more workers if all are busy"
            : "start a worker with pollerd worker: none is alive"
        let isFailed = oldest > Self.overdueFailure
        return HealthResult(isFailed ? .failed : .warning, text, action: action)
    }

    private var lanes: HealthResult {
        if let stopped = Self.stopped(status.lanes.filter { $0.state == .open }) { return stopped }
        if let names = named(.paused) {
            return .warning(
                "paused: \(names)",
                action: "resume them with pollerctl lane resume LANE"
            )
        }
        if let names = named(.probing) {
            return .warning(
                "one poll at a time after failures: \(names)",
                action: "check the upstream; the lane resumes automatically when it responds"
            )
        }
        let slower = [LaneState.held, .slowed].compactMap(named).joined(separator: ", ")
        return .ok(
            slower.isEmpty
                ? "\(status.lanes.count), none stopped" : "the upstream slows down \(slower)"
        )
    }

    var quarantine: HealthResult {
        guard watches.quarantined > 0 else { return .ok("empty") }
        return .warning(
            "\(watches.quarantined) watches could not be polled",
            action: "find the reason with pollerctl quarantine list, then use pollerctl "
                + "quarantine redrive, or dismiss"
        )
    }

    var outbox: HealthResult {
        let waiting = watches.undelivered
        guard waiting > 0 else { return .ok("every event is marked for delivery") }
        guard status.notifiers > 0 else {
            return .failed(
                "\(waiting) events wait and no notifier is alive",
                action: "start one with pollerd notifier; no event is lost"
            )
        }
        guard waiting > Self.undeliveredMax else {
            return .ok("\(waiting) events are being marked for delivery")
        }
        return .warning(
            "\(waiting) events wait: the notifiers are too slow",
            action: "check the notifiers' logs, and start more notifiers"
        )
    }

    private var deliveries: HealthResult {
        let dead = failures?.dead ?? status.deliveries.quarantined
        let down = status.deliveries.circuitsOpen
        let failing = failures?.failing ?? 0
        var (findings, actions): ([String], [String]) = ([], [])
        if down > 0 {
            let names = self.down.prefix(Self.namedMax).joined(separator: ", ")
            let more = down - min(self.down.count, Self.namedMax)
            findings.append(
                (down == 1 ? "1 endpoint accepts no events" : "\(down) endpoints accept no events")
                    + (names.isEmpty ? "" : ": \(names)" + (more > 0 ? " and \(more) more" : ""))
                    + "; they are probed automatically"
            )
        }
        if failing > 0 {
            findings.append("\(failing) are failing and are retried")
        }
        if down > 0 || failing > 0 {
            actions.append(
                "check pollerctl delivery list --state failing; pollerctl delivery "
                    + "retry retries now"
            )
        }
        if dead > 0 {
            findings.append("\(dead) have dead letters")
            actions.append(Remedy.deadLetters)
        }
        guard findings.isEmpty else {
            return .warning(
                findings.joined(separator: "; "),
                action: actions.joined(separator: "; ")
            )
        }
        let waiting = status.deliveries.pending
        return .ok(waiting == 0 ? "nothing waits" : "\(waiting) on their way")
    }

    /// Returns the result for lanes with failing attempts, grouped by failure; `nil` if there are none.
    static func stopped(_ lanes: [LaneReport]) -> HealthResult? {
        guard !lanes.isEmpty else { return nil }
        // The failures that an operator must fix come first.
        let findings = [LaneFailure.revoked, .denied, .erring, .silent, nil].compactMap { failure in
            names(of: lanes.filter { $0.lastFailure == failure }).map { names in
                "the upstream \(failure.phrase) for \(names)"
            }
        }
        return .failed(
            findings.joined(separator: ", ") + "; it is probed automatically",
            action: "check the upstream and the account's key; pollerctl lane resume LANE "
                + "retries now"
        )
    }

    /// Returns the names of the lanes in a state; `nil` if there are none.
    private func named(_ state: LaneState) -> String? {
        Self.names(of: status.lanes.filter { $0.state == state })
    }

    /// Returns the first lane names and the number of the others; `nil` if there are none.
    private static func names(of lanes: [LaneReport]) -> String? {
        guard !lanes.isEmpty else { return nil }
        let names = lanes.prefix(namedMax).map(\.lane.description)
        let more = lanes.count - names.count
        return names.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    /// Returns a span for people, such as `350 ms`, `42 s` or `7 min`.
    private static func text(_ span: Duration) -> String {
        switch span.ms {
        case ..<1000: "\(span.ms) ms"
        case ..<120_000: "\(span.ms / 1000) s"
        default: "\(span.ms / 60_000) min"
        }
    }
}

extension LaneFailure? {
    /// The failure as a phrase for people.
    var phrase: String {
        switch self {
        case .denied: "rejects the credentials (401 or 403)"
        case .revoked: "rejects the account's key (401)"
        case .erring: "responds with errors"
        case .silent: "does not respond"
        case nil: "fails"
        }
    }
}

/// The failures that only the delivery lists show, as in `pollerctl delivery list`.
struct DeliveryFailures: Hashable, Sendable {
    /// The maximum number of deliveries read.
    ///
    /// Each is a separate read, some tens of milliseconds in all.
    private static let readMax = 500
    /// The maximum number of pages read.
    ///
    /// An empty partition also counts as a page.
    private static let pagesMax = 100

    /// The deliveries that failed and are retried.
    let failing: Int
    /// The deliveries with dead letters, including those that continue with later events.
    let dead: Int

    init(failing: Int, dead: Int) {
        self.failing = failing
        self.dead = dead
    }

    /// Reads the lists; `nil` if there are too many deliveries to read for a check.
    init?(_ deliveries: any DeliveryOperations, stats: StoreStats) async throws(StoreError) {
        guard stats.pending + stats.leased + stats.quarantined <= Self.readMax,
            let failing = try await Self.count(.failing, deliveries),
            let dead = try await Self.count(.dead, deliveries)
        else { return nil }
        self.init(failing: failing, dead: dead)
    }

    private static func count(
        _ state: DeliverySnapshot.State,
        _ deliveries: any DeliveryOperations
    ) async throws(StoreError) -> Int? {
        var count = 0
        var cursor: String?
        for _ in 0..<pagesMax {
            let query = DeliveryQuery(state: state, limit: readMax, cursor: cursor)
            let page = try await deliveries.deliveries(query)
            count += page.items.count
            guard let next = page.next else { return count }
            cursor = next
        }
        return nil
    }
}
