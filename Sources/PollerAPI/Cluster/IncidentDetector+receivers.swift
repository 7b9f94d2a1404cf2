import PollerDeliveries
import PollerIdentity
import PollerIncidents
import PollerQueue
import PollerWatches
import SafeNumbers

// Recipients that receive no events: those with dead letters, and those that accept nothing.

extension IncidentDetector {
    /// The maximum number of deliveries read from each partition's quarantine, about a millisecond of Redis time.
    private static let deadMax = 256
    /// The maximum number of list pages read to find a delivery that continues but has dead letters.
    private static let pagesMax = 10
    /// The lanes of recipients per read, so that other operations can run in between.
    private static let lanesAtOnce = 250
    /// The failing recipients that one check classifies as payers' addresses or not.
    ///
    /// The next check continues.
    private static let unknownMax = 500

    /// Returns the endpoints whose deliveries have dead letters.
    ///
    /// A resumed delivery leaves the quarantine, and may wait as long as its endpoint is disabled or fails. Its dead
    /// letters remain. Finding such a delivery costs a read of the list. So the check does it only for reported
    /// endpoints that are no longer in quarantine.
    func deadLetters(
        _ stats: StoreStats,
        _ open: [Incident]
    ) async throws(StoreError) -> IncidentObservation {
        let reported = open.filter { $0.kind == .deadLetters }
        guard stats.quarantined > 0 || !reported.isEmpty else { return IncidentObservation() }
        let dead = try await stores.deliveries.deadLetters(limit: Self.deadMax)
        // Up to this number, endpoints are reported individually. The summary of more has no reasons.
        let isFew = dead.endpoints.count <= IncidentBoard.perKindMax
        var problems: [IncidentObservation.Problem] = []
        for (endpoint, found) in dead.endpoints.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            let newest = isFew ? try await stores.deliveries.delivery(found.newest) : nil
            let known = isFew ? try await displayName(endpoint, newest) : nil
            let title = known.map { "\($0.title) (\(endpoint))" } ?? "\(endpoint)"
            let count = found.count == 1 ? "1 delivery has" : "\(found.count) deliveries have"
            let last = newest?.lastError.map { ", the last one: \($0)" } ?? ""
            problems.append(
                IncidentObservation.Problem(
                    "\(endpoint)",
                    name: known?.name,
                    count: found.count,
                    "\(title): \(count) dead letters\(last)"
                )
            )
        }
        var isWhole = dead.isWhole
        let found = Set(problems.compactMap(\.subject))
        let named = Set(reported.compactMap(\.subject))
        for incident in reported where incident.subject.map(found.contains) != true {
            // The summary incident covers all endpoints without a separate incident.
            guard incident.subject != nil || found.isSubset(of: named) else { continue }
            switch try await lingering(incident, besides: found.union(named)) {
            case .found(let endpoint):
                problems.append(
                    IncidentObservation.Problem(
                        "\(endpoint)",
                        name: incident.subjectName,
                        count: incident.count,
                        incident.message
                    )
                )
            case .none: break
            case .unknown: isWhole = false
            }
        }
        return IncidentObservation(problems, action: Remedy.deadLetters, isWhole: isWhole)
    }

    /// Whether an incident still has dead letters, in deliveries that continue.
    private enum Lingering {
        case found(EndpointID)
        case none
        /// There are more deliveries than were read.
        case unknown
    }

    private func lingering(
        _ incident: Incident,
        besides named: Set<String>
    ) async throws(StoreError) -> Lingering {
        let endpoint = incident.subject.map { EndpointID(unchecked: $0) }
        var cursor: String?
        for _ in 0..<Self.pagesMax {
            let page = try await stores.deliveries.deliveries(
                DeliveryQuery(
                    endpoint: endpoint,
                    state: .dead,
                    limit: endpoint == nil ? 100 : 1,
                    cursor: cursor
                )
            )
            let found = page.items.map(\.delivery.endpoint).first { one in
                endpoint != nil || !named.contains("\(one)")
            }
            if let found { return .found(found) }
            guard let next = page.next else { return .none }
            cursor = next
        }
        return .unknown
    }

    /// Returns the recipients that have accepted nothing for a while although deliveries are waiting.
    ///
    /// The start time is stored in their lane, and the first accepted delivery clears it. Some recipients are left out.
    /// A disabled one is a separate incident, or an operator's choice. One without waiting deliveries is covered by the
    /// dead letters. A payer's email address is never an incident: operators cannot fix a relay that does not know the
    /// domain, or that defers mail. A relay that rejects every email is an incident of the relay.
    func failingReceivers(at now: Timestamp) async throws(StoreError) -> IncidentObservation {
        let status = try await registryStatus()
        var failing: [(lane: LaneReport, since: Timestamp)] = []
        var cursor: String?
        var lanesRead = 0
        repeat {
            let page = try await stores.deliveries.lanes(limit: Self.lanesAtOnce, cursor: cursor)
            lanesRead += page.items.count
            for lane in page.items {
                guard let since = lane.failingSince, now - since >= failingAfter else { continue }
                let id = EndpointID(unchecked: lane.lane.description)
                let isAwaited = lane.waiting + lane.inFlight > 0
                guard isAwaited, !lane.isPaused, !status.disabled.contains(id) else { continue }
                failing.append((lane, since))
            }
            cursor = page.next
        } while cursor != nil && lanesRead < ClusterStatus.lanesMax
        failing.sort { ($0.since.ms, "\($0.lane.lane)") < ($1.since.ms, "\($1.lane.lane)") }
        let isSorted = try await excludePayers(of: &failing)
        let isFew = failing.count <= IncidentBoard.perKindMax
        var problems: [IncidentObservation.Problem] = []
        for (lane, since) in failing {
            let (name, message) = try await failureReport(of: lane, since: since, isFew: isFew)
            problems.append(
                IncidentObservation.Problem(
                    lane.lane.description,
                    name: name,
                    count: max(lane.waiting + lane.inFlight, 1),
                    message,
                    since: since
                )
            )
        }
        return IncidentObservation(
            problems,
            action: Remedy.failingReceivers,
            isWhole: cursor == nil && isSorted
        )
    }

    /// Removes the lanes that deliver to payers' email addresses, and those not classified yet; returns `false` if
    /// there were any of the latter.
    ///
    /// A lane does not contain its URL, but its deliveries do. One of them is read once per lane. The result is
    /// remembered, because the ID of an inline endpoint is derived from its URL.
    private func excludePayers(
        of failing: inout [(lane: LaneReport, since: Timestamp)]
    ) async throws(StoreError) -> Bool {
        var known: [EndpointID: Bool] = [:]
        var (classified, isWhole) = (0, true)
        var receivers: [(lane: LaneReport, since: Timestamp)] = []
        for one in failing {
            let id = EndpointID(unchecked: one.lane.lane.description)
            var isPayers = payersAddresses[id]
            if isPayers == nil, classified < Self.unknownMax {
                classified += 1
                isPayers = try await isPayersAddress(id)
            }
            known[id] = isPayers
            if isPayers == nil { isWhole = false }
            if isPayers == false { receivers.append(one) }
        }
        payersAddresses = known
        failing = receivers
        return isWhole
    }

    /// Returns whether an endpoint is an email address of a watch; `nil` if neither a delivery nor a record exists.
    private func isPayersAddress(_ endpoint: EndpointID) async throws(StoreError) -> Bool? {
        let query = DeliveryQuery(endpoint: endpoint, limit: 1)
        if let found = try await stores.deliveries.deliveries(query).items.first?.delivery {
            // Addresses of `operator_notify` belong to operators.
            return found.url?.scheme == "mailto" && found.watch.account != .operators
        }
        return try await endpoints.read(endpoint) == nil ? nil : false
    }

    private func failureReport(
        of lane: LaneReport,
        since: Timestamp,
        isFew: Bool
    ) async throws(StoreError) -> (name: String?, message: String) {
        let id = EndpointID(unchecked: lane.lane.description)
        guard isFew else { return (nil, "\(id) has accepted no event since \(since)") }
        let query = DeliveryQuery(endpoint: id, state: .failing, limit: 1)
        let newest = try await stores.deliveries.deliveries(query).items.first
        let known = try await displayName(id, newest)
        let title = known.map { "\($0.title) (\(id))" } ?? "\(id)"
        let last = newest?.lastError.map { ": \($0)" } ?? ""
        return (known?.name, "\(title) has accepted no event since \(since)\(last)")
    }

    /// Returns the title of an endpoint for a sentence, and its name if it has one; `nil` for a deleted endpoint.
    private func displayName(
        _ endpoint: EndpointID,
        _ delivery: DeliverySnapshot?
    ) async throws(StoreError) -> (title: String, name: String?)? {
        if let url = delivery?.delivery.url { return ("\(url.host)", nil) }
        guard let registered = try await endpoints.read(endpoint)?.endpoint else { return nil }
        return (registered.title, registered.name)
    }

    /// Returns the accounts whose key the upstream rejects for every request.
    static func credentials(_ status: ClusterStatus) -> IncidentObservation {
        var lanes: [AccountID: [LaneReport]] = [:]
        for lane in status.lanes where !lane.isPaused && lane.lastFailure == .revoked {
            guard let account = lane.lane.accountAndKind?.account else { continue }
            lanes[account, default: []].append(lane)
        }
        let problems = lanes.sorted { "\($0.key)" < "\($1.key)" }.map { account, lanes in
            let waiting = lanes.reduce(0) { $0.addingSaturating($1.waiting + $1.inFlight) }
            let payments = waiting == 1 ? "1 payment is" : "\(waiting) payments are"
            return IncidentObservation.Problem(
                "\(account)",
                count: max(waiting, 1),
                "the upstream refuses the key of account \(account) (401): \(payments) not polled"
            )
        }
        return IncidentObservation(
            problems,
            action: Remedy.revokedKey,
            isWhole: status.more == nil || status.watches.circuitsOpen == 0
        )
    }
}
