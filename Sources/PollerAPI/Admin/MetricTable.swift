/// A metric in the table of all metrics.
package struct Metric: Hashable, Sendable {
    /// The Prometheus type of a metric.
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    /// The Prometheus name.
    package let name: String
    package let kind: Kind
    /// The label names.
    package let labels: [String]
    /// One sentence for `# HELP` and the reference.
    package let help: String

    private init(_ kind: Kind, _ name: String, _ labels: [String], _ help: String) {
        self.name = "poller_\(name)"
        self.kind = kind
        self.labels = labels
        self.help = help
    }

    /// Every metric that a process of this project may export, by name.
    package static let byName: [String: Metric] = Dictionary(
        uniqueKeysWithValues: all.map { ($0.name, $0) }
    )

    /// Every metric that a process of this project may export.
    ///
    /// To add one, add a row.
    ///
    /// Each process that knows a gauge exports it, and every API process exports those of the cluster: take their
    /// maximum. All other metrics are per process: take their sum.
    package static let all: [Metric] = sections.flatMap(\.metrics)

    /// The sections of the table, as in the reference and the dashboard.
    package static let sections: [(title: String, metrics: [Metric])] = [
        ("Polls", workers), ("Deliveries", deliveries), ("Servers", servers),
        ("The cluster", cluster),
    ]

    private static let workers = [
        Metric(.counter, "polls_total", ["result"], "Polls by what came of them."),
        Metric(.counter, "changes_total", [], "Changes recorded, each told to whoever listens."),
        Metric(
            .counter,
            "charges_total",
            ["result"],
            "Tries to charge a source, or to find its charge."
        ),
        Metric(
            .counter,
            "acts_total",
            ["act", "result"],
            "Holds captured or released and intents cancelled before a deadline."
        ),
        Metric(
            .histogram,
            "poll_duration_seconds",
            [],
            "How long the upstream took to answer a poll."
        ),
        Metric(.histogram, "due_lag_seconds", [], "How late polls began against their due time."),
        Metric(.counter, "claims_total", ["loop"], "Claims that the store has answered."),
        Metric(.counter, "visits_total", ["loop"], "Exchanges with a partition of a queue."),
        Metric(
            .counter,
            "leases_lost_total",
            ["loop"],
            "Results refused because the lease was lost meanwhile."
        ),
        Metric(
            .counter,
            "leases_recovered_total",
            ["loop"],
            "Items taken over from processes that died."
        ),
        Metric(
            .counter,
            "wakes_missed_total",
            ["loop"],
            "Due items found by the claim of each second."
        ),
        Metric(
            .counter,
            "sweep_events_total",
            ["account"],
            "Events of an account that the sweep has read."
        ),
        Metric(
            .gauge,
            "sweep_behind_seconds",
            ["account"],
            "How much later than its own pace the sweep of an account reads everything."
        ),
        Metric(
            .counter,
            "webhook_missed_total",
            ["account"],
            "Events that the sweep has read and no webhook had told."
        ),
        Metric(.gauge, "reads_30d", ["account"], "GETs of an account in thirty days."),
        Metric(
            .gauge,
            "read_budget_30d",
            ["account"],
            "GETs that the upstream allows an account in thirty days, by its transactions."
        ),
        Metric(
            .gauge,
            "read_stretch",
            ["account"],
            "By how much the polls of an account are slowed down to keep to its budget."
        ),
    ]

    private static let deliveries = [
        Metric(.counter, "outbox_entries_total", [], "Events marked for delivery."),
        Metric(
            .counter,
            "delivery_marks_total",
            [],
            "Deliveries made due by events, one for each receiver of an event."
        ),
        Metric(
            .counter,
            "deliveries_total",
            ["scheme", "result"],
            "Attempts by what came of them."
        ),
        Metric(
            .counter,
            "deliveries_put_off_total",
            [],
            "Attempts put off because slow receivers of their account hold as many places as they may."
        ),
        Metric(.histogram, "delivery_lag_seconds", [], "From the recorded event to its delivery."),
        Metric(.gauge, "endpoints", [], "Registered endpoints that this process knows."),
        Metric(
            .counter,
            "endpoints_disabled_total",
            [],
            "Endpoints disabled because they failed too long."
        ),
    ]

    private static let servers = [
        Metric(
            .counter,
            "http_requests_total",
            ["method", "route", "status"],
            "Requests of the API."
        ),
        Metric(
            .histogram,
            "http_request_duration_seconds",
            ["route"],
            "Time to answer a request of the API, long polls included."
        ),
        Metric(
            .counter,
            "connections_refused_total",
            ["listener"],
            "Connections beyond what one address may have."
        ),
        Metric(
            .counter,
            "gateway_connections_total",
            ["transport"],
            "Listeners that have connected."
        ),
        Metric(
            .counter,
            "stripe_webhooks_total",
            ["outcome"],
            "Webhooks of Stripe by what came of them."
        ),
        Metric(
            .counter,
            "stripe_signatures_total",
            ["account", "result"],
            "Webhooks of Stripe by their signature: good, accepted though from the future (ahead), or refused for clock, secret, unsigned, malformed."
        ),
        Metric(
            .counter,
            "audit_lost_total",
            [],
            "Changes that the log has and the audit trail has not."
        ),
        Metric(
            .counter,
            "reader_deaths_total",
            ["reader"],
            "Processes that ended while a background reader handled an entry, as later processes found them."
        ),
        Metric(
            .counter,
            "set_aside_total",
            ["reader"],
            "Entries set aside because they have ended several processes."
        ),
        Metric(
            .counter,
            "spans_exported_total",
            [],
            "Spans that the collector of traces has taken."
        ),
        Metric(
            .counter,
            "spans_dropped_total",
            [],
            "Spans that found no place in the queue, or that the collector has not taken."
        ),
        Metric(
            .counter,
            "log_lines_dropped_total",
            ["reason"],
            "Log lines that were dropped: the reader stalled (full) or the write failed (failed)."
        ),
        Metric(.counter, "metrics_refused_total", [], "Series beyond the bounds of this page."),
        Metric(.gauge, "build_info", ["version", "roles"], "1; what this process runs."),
        Metric(
            .counter,
            "config_reloads_total",
            ["result"],
            "Readings of the configuration while the process runs: changed, same or refused."
        ),
        Metric(
            .gauge,
            "config_mistakes",
            [],
            "What is wrong with the configuration that was read last; 0 when it holds."
        ),
        Metric(
            .gauge,
            "config_read_timestamp_seconds",
            [],
            "When the configuration that holds was read, in seconds since 1970."
        ),
        Metric(
            .gauge,
            "config_restart_options",
            [],
            "Options of that configuration that hold only after a restart."
        ),
    ]

    private static let cluster = [
        Metric(
            .gauge,
            "watches_pending",
            [],
            "Watches that wait for their due time or their lane."
        ),
        Metric(.gauge, "watches_overdue", [], "Of those, due already."),
        Metric(.gauge, "watches_leased", [], "Watches in a worker's hands."),
        Metric(.gauge, "watches_quarantined", [], "Watches a person must look at."),
        Metric(
            .gauge,
            "watches_oldest_overdue_seconds",
            [],
            "How long the longest overdue watch has been due."
        ),
        Metric(
            .gauge,
            "lanes",
            ["state"],
            "Lanes by state: paused, open, probing, held, slowed, flowing."
        ),
        Metric(.gauge, "outbox_undelivered", [], "Recorded events not yet marked for delivery."),
        Metric(.gauge, "deliveries_pending", [], "Deliveries that wait."),
        Metric(.gauge, "deliveries_overdue", [], "Of those, due already."),
        Metric(.gauge, "deliveries_dead", [], "Deliveries that rest and have given up an event."),
        Metric(
            .gauge,
            "endpoints_down",
            [],
            "Endpoints whose circuit is open, without those that are disabled."
        ),
        Metric(.gauge, "members", ["role"], "Processes alive."),
        Metric(
            .gauge,
            "workers_wanted",
            [],
            "Workers that the cluster could use now, by what is in flight and what its lanes would let start."
        ),
        Metric(
            .gauge,
            "incidents_open",
            ["kind"],
            "Incidents that operators were told of and that are not over."
        ),
        Metric(
            .gauge,
            "set_aside_entries",
            ["reader"],
            "Stored entries that are set aside because they have ended several processes."
        ),
        Metric(
            .gauge,
            "webhooks_refused",
            ["account"],
            "Webhooks of Stripe that were refused since one was accepted, where an operator must act."
        ),
        Metric(
            .gauge,
            "store_up",
            [],
            "1 when the last look at the store worked; with 0 the other figures of the cluster are not told."
        ),
    ]

    /// The cluster gauges, except the one that reports whether they could be read.
    static let ofCluster = cluster.map(\.name).filter { $0 != "poller_store_up" }
}
