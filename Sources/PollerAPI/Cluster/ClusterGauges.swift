package import Logging
import Metrics
import PollerHints
package import PollerIdentity
import PollerIncidents
import PollerOperations
import PollerQueue
import ServiceLifecycle

/// Updates the gauges of the whole cluster in this process's metrics.
///
/// The gauges are listed in ``Metric``. While the store cannot be read, only `poller_store_up` is exported: an outdated
/// value would keep an alert silent.
///
/// The store is read every 15 s, independently of scrapes, because a slow store must not make `/metrics` slow. Every
/// process that runs this service exports the same values, so take the maximum over processes.
package struct ClusterGauges: Service {
    /// The refresh interval, a usual scrape interval.
    package static let period = Duration.seconds(15)

    private let statusCache: ClusterStatusCache
    private let incidents: (any IncidentStore)?
    private let setAside: (any SuspectStore)?
    private let refusals: (any WebhookHealthStore)?
    private let wallClock: @Sendable () -> Timestamp
    private let clock: any Clock<Duration>
    private let registry: PrometheusRegistry
    private let logger: Logger

    /// Creates the service.
    ///
    /// `registry` receives the gauges.
    package init(
        backend: APIBackend,
        clock: any Clock<Duration>,
        wallClock: @escaping @Sendable () -> Timestamp,
        logger: Logger,
        registry: PrometheusRegistry
    ) {
        statusCache = ClusterStatusCache(backend: backend, clock: clock)
        incidents = backend.incidents
        setAside = backend.setAside
        refusals = backend.refusals
        self.wallClock = wallClock
        self.clock = clock
        self.logger = logger
        self.registry = registry
    }

    /// Refreshes the gauges until shutdown.
    package func run() async throws {
        await clock.repeatUntilShutdown(every: Self.period) { await refresh() }
    }

    private func refresh() async {
        do {
            record(try await statusCache.current())
            if let incidents { record(try await incidents.incidents().open) }
            if let setAside { record(try await setAside.setAsideEntries()) }
            if let refusals { record(try await refusals.refusedWebhooks()) }
            set("poller_store_up", 1)
        } catch {
            // Scrapes show the failure. Requests and workers report an unavailable store themselves.
            logger.debug("cluster gauges not refreshed", metadata: ["error": "\(error)"])
            set("poller_store_up", 0)
            registry.forget(Metric.ofCluster)
        }
    }

    private func record(_ status: ClusterStatus) {
        let (watches, deliveries) = (status.watches, status.deliveries)
        set("poller_watches_pending", watches.pending)
        set("poller_watches_overdue", watches.overdue)
        set("poller_watches_leased", watches.leased)
        set("poller_watches_quarantined", watches.quarantined)
        Gauge(label: "poller_watches_oldest_overdue_seconds", factory: registry)
            .record(status.oldestOverdue.inSeconds)
        for state in LaneState.allCases {
            set("poller_lanes", status.count(state), ("state", state.rawValue))
        }
        set("poller_outbox_undelivered", watches.undelivered)
        set("poller_deliveries_pending", deliveries.pending)
        set("poller_deliveries_overdue", deliveries.overdue)
        set("poller_deliveries_dead", deliveries.quarantined)
        set("poller_endpoints_down", deliveries.circuitsOpen)
        for role in ["worker", "notifier", "gateway", "api"] {
            set("poller_members", status.count(role: role), ("role", role))
        }
        set("poller_workers_wanted", status.workersWanted)
    }

    private func record(_ open: [Incident]) {
        for kind in IncidentKind.allCases {
            let count = open.count { $0.kind == kind }
            set("poller_incidents_open", count, ("kind", kind.rawValue))
        }
    }

    private func record(_ entries: [SetAsideEntry]) {
        for reader in SuspectReader.allCases {
            let count = entries.count { $0.reader == reader }
            set("poller_set_aside_entries", count, ("reader", reader.rawValue))
        }
    }

    private func record(_ refused: [RefusedWebhooks]) {
        // An account with an accepted webhook is no longer in the list.
        registry.forget(["poller_webhooks_refused"])
        let now = wallClock()
        for account in refused where account.needsAttention && account.isRecent(at: now) {
            set("poller_webhooks_refused", account.count, ("account", account.account.description))
        }
    }

    private func set(_ label: String, _ value: Int, _ dimensions: (String, String)...) {
        Gauge(label: label, dimensions: dimensions, factory: registry).record(value)
    }
}
