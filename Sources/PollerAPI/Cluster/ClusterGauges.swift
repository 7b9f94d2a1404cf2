package import Logging
import Metrics
import Poller
package import PollerIdentity
import PollerQueue
import ServiceLifecycle

/// Keeps gauges of the whole cluster in this process's metrics.
///
/// Which, and what they say, is in ``Metric``. While the store cannot be read there are none of them but
/// `poller_store_up`: a figure of an hour ago would keep an alarm silent.
///
/// The store is looked at every 15 s, however often somebody scrapes, and never by a scrape: a
/// slow store must not make `/metrics` slow. Every process that runs this tells the same, so
/// take the maximum over processes.
package struct ClusterGauges: Service {
    /// A scrape's usual interval.
    package static let period = Duration.seconds(15)

    private let statusCache: ClusterStatusCache
    private let incidents: (any IncidentStore)?
    private let setAside: (any SuspectStore)?
    private let refusals: (any WebhookHealthStore)?
    private let wallClock: @Sendable () -> Timestamp
    private let clock: any Clock<Duration>
    private let registry: PrometheusRegistry
    private let logger: Logger

    /// Gauges that are kept while this runs; `registry` is where they go.
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

    /// Looks again and again until shut down.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await refresh()
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.period)
            }
        }
    }

    private func refresh() async {
        do {
            record(try await statusCache.current())
            if let incidents { record(try await incidents.incidents().open) }
            if let setAside { record(try await setAside.setAsideEntries()) }
            if let refusals { record(try await refusals.refusedWebhooks()) }
            set("poller_store_up", 1)
        } catch {
            // Who scrapes sees it; requests and workers have their own say about a broken store.
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
        // An account that has one accepted is in the list no more.
        registry.forget(["poller_webhooks_refused"])
        let now = wallClock()
        for account in refused where account.isTrouble && account.isRecent(at: now) {
            set("poller_webhooks_refused", account.count, ("account", account.account.description))
        }
    }

    private func set(_ label: String, _ value: Int, _ dimensions: (String, String)...) {
        Gauge(label: label, dimensions: dimensions, factory: registry).record(value)
    }
}
