package import PollerDeliveries
package import PollerHints
package import PollerIdentity
package import PollerIncidents
package import PollerOperations
package import PollerQueue
import SafeNumbers

/// Checks the cluster for incidents.
///
/// The check uses the same status as the doctor and the dashboards, and the doctor's messages. A consequence of another
/// problem is not reported separately: overdue watches are not a backlog if no worker lives or if their lane is
/// stopped.
///
/// *Cost*: one read of the lanes. The registry and the keys are read again only after a change, and the deliveries in
/// quarantine only if there are any.
///
/// An actor, because it caches the registry and the keys.
package actor IncidentDetector: IncidentChecker {
    /// The minimum wait of a stopped lane.
    ///
    /// A shorter one is only slow: an ordinary 429 asks for some seconds.
    private static let stoppedMin = Duration.seconds(60)
    /// How long before its expiry a key is reported.
    ///
    /// Only keys with a longer lifetime are reported: the creator of a key for one day knows that it expires.
    private static let keyNotice = Duration.seconds(7 * 86_400)
    /// The fraction of memory above which a store counts as nearly full.
    private static let memoryMax = 0.9

    let stores: ClusterStores
    let endpoints: any EndpointStore
    private let keys: any KeyStore
    /// Returns the memory fraction of the fullest store server; `nil` if it has no limit or cannot be read.
    private let memoryUsed: @Sendable () async -> Double?
    /// The entries set aside; `nil` without a store for them.
    private let setAside: (any SuspectStore)?
    /// The rejected webhooks of the upstream; `nil` without a store for them.
    private let webhooks: (any WebhookHealthStore)?
    /// The rejections of the mail relay; `nil` without a store for them.
    private let relay: (any RelayFailureStore)?
    private let suspects: PoisonGuard
    /// How long a recipient accepts nothing before it is an incident.
    let failingAfter: Duration
    private var registry: (version: Int64, status: RegistryStatus)?
    private var register: KeyRegister?
    /// For each recipient that failed at the last check, whether it is a payer's email address.
    var payersAddresses: [EndpointID: Bool] = [:]

    /// The disabled endpoints of the registry.
    struct RegistryStatus {
        var disabled: Set<EndpointID> = []
        /// The endpoints that were disabled automatically.
        var problems: [IncidentObservation.Problem] = []
    }

    /// Creates a check of a cluster.
    ///
    /// A recipient that accepts nothing for `failingAfter` is an incident.
    package init(
        _ stores: ClusterStores,
        endpoints: any EndpointStore,
        keys: any KeyStore,
        setAside: (any SuspectStore)? = nil,
        webhooks: (any WebhookHealthStore)? = nil,
        relay: (any RelayFailureStore)? = nil,
        suspects: PoisonGuard = .none,
        failingAfter: Duration = .seconds(300),
        memoryUsed: @escaping @Sendable () async -> Double?
    ) {
        self.stores = stores
        self.endpoints = endpoints
        self.keys = keys
        self.memoryUsed = memoryUsed
        self.setAside = setAside
        self.webhooks = webhooks
        self.relay = relay
        self.suspects = suspects
        self.failingAfter = failingAfter
    }

    package func check(
        at now: Timestamp,
        open: [Incident]
    ) async throws(StoreError) -> [IncidentKind: IncidentObservation] {
        var observations: [IncidentKind: IncidentObservation] = [:]
        let status = try await part("status") { () async throws(StoreError) in
            try await ClusterStatus.read(stores)
        }
        if let status {
            observations = Self.processes(status)
            observations[.laneStopped] = Self.stopped(status)
            observations[.credentialsRefused] = Self.credentials(status)
            observations[.deadLetters] = try await part("dead letters") {
                () async throws(StoreError) in
                try await deadLetters(status.deliveries, open)
            }
        }
        observations[.endpointDisabled] = try await part("endpoints") {
            () async throws(StoreError) in
            try await disabledEndpoints()
        }
        observations[.endpointFailing] = try await part("receivers") {
            () async throws(StoreError) in
            try await failingReceivers(at: now)
        }
        observations[.keyExpiring] = try await part("keys") { () async throws(StoreError) in
            try await expiringKeys(at: now)
        }
        observations[.storeFilling] = await memory()
        if let webhooks {
            observations[.webhooksRefused] = try await part("webhooks") {
                () async throws(StoreError) in
                Self.observation(of: try await webhooks.refusedWebhooks(), at: now)
            }
        }
        if let relay {
            observations[.mailRelay] = try await part("mail relay") { () async throws(StoreError) in
                Self.observation(of: try await relay.relayFailures(), at: now)
            }
        }
        if let setAside {
            observations[.setAside] = Self.observation(
                ofSetAside: try await setAside.setAsideEntries()
            )
        }
        return observations
    }

    /// Reads one part of the cluster; `nil` if the read has ended several processes and is set aside.
    ///
    /// Each part is separate, so that a record that cannot be read hides only its own kind of incident.
    private func part<Part: Sendable>(
        _ name: String,
        _ read: () async throws(StoreError) -> Part
    ) async throws(StoreError) -> Part? {
        let partition = suspects.partition(of: Incident.lane.description)
        let suspect = Suspect(.incident, partition: partition, name: name)
        return try await suspects.handle(one: suspect) { () async throws(StoreError) -> Part in
            #if DEBUG
            FailPoint.check(.incident, name)
            #endif
            return try await read()
        }
    }

    /// Returns the accounts whose webhooks are all rejected.
    static func observation(of refused: [RefusedWebhooks], at now: Timestamp) -> IncidentObservation
    {
        let problems = refused.filter { $0.needsAttention && $0.isRecent(at: now) }
        return IncidentObservation(
            problems.map {
                IncidentObservation.Problem("\($0.account)", count: $0.count, $0.message)
            },
            action: problems.first?.action
        )
    }

    /// Returns the incident of a mail relay that rejects emails it should accept.
    static func observation(of failures: RelayFailures?, at now: Timestamp) -> IncidentObservation {
        guard let failures, failures.needsAttention(at: now) else { return IncidentObservation() }
        return IncidentObservation(
            [IncidentObservation.Problem(nil, count: failures.count, failures.message)],
            action:
                "read the response, and compare POLLER_SMTP_URL and POLLER_MAIL_FROM "
                + "with the relay's requirements: login, TLS, sender, limits, block "
                + "lists; emails are retried for a day"
        )
    }

    /// Returns the entries that have ended several processes.
    static func observation(ofSetAside entries: [SetAsideEntry]) -> IncidentObservation {
        IncidentObservation(
            entries.map { entry in
                let subject = entry.about.map { " about \($0)" } ?? ""
                return IncidentObservation.Problem(
                    entry.id,
                    "\(entry.readerName): an entry\(subject) crashed \(entry.deaths) "
                        + "processes and is set aside"
                )
            },
            action: Remedy.setAside
        )
    }

    /// Returns the incidents of missing or overloaded processes.
    static func processes(_ status: ClusterStatus) -> [IncidentKind: IncidentObservation] {
        let moving = ClusterStatus(
            watches: status.watches,
            deliveries: status.deliveries,
            lanes: status.lanes.filter { !$0.isStopped(atLeast: stoppedMin) && !$0.isRevoked },
            more: status.more,
            members: status.members,
            laneLimit: status.laneLimit,
            lease: status.lease
        )
        let health = ClusterHealth(status: moving)
        let (watches, deliveries) = (status.watches, status.deliveries)
        let overdue = moving.lanes.reduce(0) { $0.addingSaturating($1.overdue) }
        let isLate = status.workers > 0 && health.backlog.status == .failed
        let isBehind = status.notifiers > 0 && health.outbox.status != .ok
        var backlog: [IncidentObservation.Problem] = []
        if isLate { backlog.append(health.backlog.problem("backlog", of: "watches", overdue)) }
        if isBehind {
            backlog.append(health.outbox.problem("outbox", of: "outbox", watches.undelivered))
        }
        return [
            .noWorker: health.workers.observation("workers", watches.pending + watches.leased),
            .noNotifier: health.notifiers.observation(
                "notifiers",
                max(deliveries.pending + deliveries.leased + watches.undelivered, 1)
            ),
            .backlog: IncidentObservation(
                backlog,
                action: isLate ? health.backlog.action : health.outbox.action
            ),
            .quarantine: health.quarantine.observation(
                "quarantine",
                watches.quarantined,
                from: .warning
            ),
        ]
    }

    /// Returns the lanes that are stopped without an operator's request.
    static func stopped(_ status: ClusterStatus) -> IncidentObservation {
        // A lane stopped because its account's key is rejected is reported with the account.
        let lanes = status.lanes.filter { $0.isStopped(atLeast: stoppedMin) && !$0.isRevoked }
        return IncidentObservation(
            lanes.map { lane in
                let name = lane.lane.description
                let held = lane.currentHoldEnd.map { "the upstream has \(name) wait until \($0)" }
                let failing = lane.circuit == .closed ? nil : ClusterHealth.stopped([lane])
                return IncidentObservation.Problem(name, failing?.message ?? held ?? "")
            },
            action: ClusterHealth.stopped(lanes)?.action,
            // If there are more lanes than were read, the store's count of open circuits covers all.
            isWhole: status.more == nil || status.watches.circuitsOpen == 0
        )
    }

    /// Returns the state of the registry, read again if its version has changed.
    func registryStatus() async throws(StoreError) -> RegistryStatus {
        let version = try await endpoints.version()
        if let registry, registry.version == version { return registry.status }
        var status = RegistryStatus()
        var cursor: String?
        repeat {
            let page = try await endpoints.list(accounts: .all, limit: 500, cursor: cursor)
            for endpoint in page.items {
                if !endpoint.isEnabled { status.disabled.insert(endpoint.id) }
                if let problem = endpoint.automaticallyDisabled { status.problems.append(problem) }
            }
            cursor = page.next
        } while cursor != nil
        registry = (version, status)
        return status
    }

    /// Returns the registered endpoints that were disabled automatically.
    private func disabledEndpoints() async throws(StoreError) -> IncidentObservation {
        let status = try await registryStatus()
        return IncidentObservation(status.problems, action: Remedy.disabledEndpoints)
    }

    /// Returns the keys that expire soon and were created for longer.
    private func expiringKeys(at now: Timestamp) async throws(StoreError) -> IncidentObservation {
        let version = try await keys.version()
        if register?.version != version { register = try await keys.register() }
        let expiring = (register?.keys ?? []).compactMap { key, _ -> IncidentObservation.Problem? in
            guard let end = key.expiresAt, !key.hasEnded(by: now), end - now <= Self.keyNotice,
                end - key.createdAt > Self.keyNotice
            else { return nil }
            return IncidentObservation.Problem(
                "\(key.id)",
                "the key \(key.caller.name) ends at \(end)"
            )
        }
        return IncidentObservation(
            expiring,
            action: "create another with pollerctl key create, give it to its holder, then "
                + "revoke the old one with pollerctl key revoke"
        )
    }

    private func memory() async -> IncidentObservation? {
        guard let used = await memoryUsed() else { return nil }
        guard used >= Self.memoryMax else { return IncidentObservation() }
        let percent = Int(saturating: used * 100)
        return IncidentObservation(
            [
                IncidentObservation.Problem(
                    nil,
                    "store: \(percent) % of the Redis memory limit is used"
                )
            ],
            action: "give Redis more memory (maxmemory), or shorten closed_retention, "
                + "outbox_retention or afterlife"
        )
    }
}

extension LaneReport {
    /// Whether polls fail because the upstream rejects the account's key.
    fileprivate var isRevoked: Bool { !isPaused && lastFailure == .revoked }

    /// Returns whether the lane is stopped for at least this span without an operator's request.
    fileprivate func isStopped(atLeast span: Duration) -> Bool {
        guard !isPaused else { return false }
        return circuit != .closed || heldUntil.map { $0 - now >= span } ?? false
    }
}

extension PollerDeliveries.Endpoint {
    /// The problem of an endpoint that was disabled automatically; `nil` otherwise.
    fileprivate var automaticallyDisabled: IncidentObservation.Problem? {
        guard case .disabled(let reason, _, .ourselves) = state else { return nil }
        return IncidentObservation.Problem(
            "\(id)",
            name: name,
            "\(title) (\(id)) receives no events: \(reason)"
        )
    }
}

extension HealthResult {
    /// Returns the incident of a check with this name if its status is bad enough.
    fileprivate func observation(
        _ name: String,
        _ count: Int,
        from least: Status = .failed
    ) -> IncidentObservation {
        let isBad = status == .failed || status == least
        return IncidentObservation(isBad ? [problem(name, of: nil, count)] : [], action: action)
    }

    fileprivate func problem(
        _ name: String,
        of subject: String?,
        _ count: Int
    ) -> IncidentObservation.Problem {
        IncidentObservation.Problem(subject, count: count, "\(name): \(message)")
    }
}
