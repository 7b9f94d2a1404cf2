import PollerAPI
import PollerIdentity
import PollerIncidents
import PollerNet
import PollerOperations
import PollerRedis
import RedisClient
import ServiceLifecycle

/// Metrics and health of this process and the cluster.
extension Node {
    /// Creates the listener for probes and metrics.
    func admin(_ tls: ListenerTLS?) -> any Service {
        AdminServer(
            bind: settings.adminBind,
            addresses: settings.addresses,
            tls: tls,
            logger: log("admin"),
            notReady: { [client = cluster.client, gate = cluster.secrets.gate, loops, startup] in
                let unbound = startup.unbound
                guard unbound.isEmpty else {
                    return unbound.map { "starting: \($0) does not accept connections yet" }
                }
                if loops.areDraining { return ["draining: send no new requests"] }
                let reach = client.reachability
                guard reach.isUsable else { return [reach.refusal] }
                return gate.refusal.map { ["secrets: \($0)"] } ?? []
            },
            // With one shard of a Redis Cluster unavailable, this process still serves the others.
            notices: { [client = cluster.client] in client.reachability.notices },
            metrics: { [metrics] in metrics.text + ProcessMetrics.text },
            onBound: { startup.bound("admin", $0) }
        )
    }

    /// Records changes that were made without a request.
    var audit: AuditRecorder { AuditRecorder(trail: cluster.trail, logger: log("audit")) }

    /// Creates the metrics of the cluster, served with those of this process.
    func gauges(_ backend: APIBackend) -> any Service {
        ClusterGauges(
            backend: backend,
            clock: clock,
            wallClock: WallClock.now,
            logger: log("gauges"),
            registry: metrics
        )
    }

    /// Creates the watch for cluster incidents, including those of other processes.
    func incidentWatch() -> any Service {
        let checker = IncidentDetector(
            ClusterStores(
                watches: cluster.watches,
                deliveries: cluster.deliveries,
                lanes: cluster.watches,
                members: cluster.members,
                laneLimit: { [live] in live.now.settings.lane },
                lease: settings.lease
            ),
            endpoints: cluster.endpoints,
            keys: cluster.keys,
            setAside: cluster.suspects,
            webhooks: sweeps,
            relay: relayFailures,
            suspects: suspects,
            failingAfter: settings.endpointFailingAfter,
            memoryUsed: { [client = cluster.client] in
                // Without permission for the query there is no memory warning.
                try? await RedisRequirements.memoryUsed(client)
            }
        )
        return IncidentMonitor(
            store: cluster.incidents,
            checker: checker,
            owner: cluster.owner,
            timing: IncidentTiming(hold: settings.incidentHold),
            clock: clock,
            logger: log("incidents")
        )
    }

    /// Reports counts that the metrics hold already.
    func activityReporter() -> any Service {
        ActivityReporter(
            store: cluster.activity,
            clock: clock,
            logger: log("activity"),
            total: { [metrics] in Activity(metrics) }
        )
    }
}

extension RedisReachability {
    /// The reason why the store is unusable.
    fileprivate var refusal: String {
        unreachable.count < masters
            ? "redis: the cluster serves no requests" : "redis: not connected"
    }

    /// The unavailable masters of a Redis Cluster, in one line.
    fileprivate var notices: [String] {
        guard masters > 1, !unreachable.isEmpty else { return [] }
        let names = unreachable.map { "\($0)" }.sorted().joined(separator: ", ")
        return ["redis: \(unreachable.count) of \(masters) masters away: \(names)"]
    }
}

extension Activity {
    /// Poll results without a usable response.
    ///
    /// Being rate limited is not one of them.
    private static let failedPolls = [
        "unavailable", "unauthorized", "unserved", "unaskable", "malformed",
    ]
    /// Delivery results in which the recipient did not accept the event.
    private static let failedDeliveries = ["failed", "given_up", "rejected"]

    /// Reads this process's totals since its start from its metrics.
    init(_ metrics: PrometheusRegistry) {
        self.init()
        func isOne(of results: [String]) -> (String) -> Bool {
            { labels in results.contains { labels.contains("result=\"\($0)\"") } }
        }
        polls = metrics.total("poller_polls_total")
        changes = metrics.total("poller_changes_total")
        deliveries = metrics.total("poller_deliveries_total", matching: isOne(of: ["delivered"]))
        failures =
            metrics.total("poller_polls_total", matching: isOne(of: Self.failedPolls))
            + metrics.total("poller_deliveries_total", matching: isOne(of: Self.failedDeliveries))
        lag = metrics.buckets("poller_due_lag_seconds")
    }
}
