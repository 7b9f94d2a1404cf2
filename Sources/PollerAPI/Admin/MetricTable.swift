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
        Metric(.counter, "polls_total", ["result"], "Polls by result."),
        Metric(
            .counter,
            "changes_total",
            [],
            "Recorded changes, each delivered to its subscribers."
        ),
        Metric(
            .counter,
            "charges_total",
            ["result"],
            "Attempts to charge a source, or to find its charge."
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
            "Response time of polls."
        ),
        Metric(.histogram, "due_lag_seconds", [], "Delay of polls after their due time."),
        Metric(.counter, "claims_total", ["loop"], "Claims answered by the store."),
        Metric(.counter, "visits_total", ["loop"], "Exchanges with a partition of a queue."),
        Metric(
            .counter,
            "leases_lost_total",
            ["loop"],
            "Results rejected because the lease was lost in the meantime."
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
            "Delay of an account's sweep compared to its own pace."
        ),
        Metric(
            .counter,
            "webhook_missed_total",
            ["account"],
            "Events that the sweep has found without a webhook."
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
            "Factor by which an account's polls are slowed down to keep to its budget."
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
            "Attempts by outcome."
        ),
        Metric(
            .counter,
            "deliveries_put_off_total",
            [],
            "Attempts postponed because slow receivers of their account use all of its slots."
        ),
        Metric(
            .histogram,
            "delivery_lag_seconds",
            [],
            "Time from the recorded event to its delivery."
        ),
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
            "API requests."
        ),
        Metric(
            .histogram,
            "http_request_duration_seconds",
            ["route"],
            "Response time of API requests, including long polls."
        ),
        Metric(
            .counter,
            "connections_refused_total",
            ["listener"],
            "Connections rejected because their address has reached its limit."
        ),
        Metric(
            .counter,
            "gateway_connections_total",
            ["transport"],
            "Subscribers that have connected."
        ),
        Metric(
            .counter,
            "stripe_webhooks_total",
            ["outcome"],
            "Stripe webhooks by result."
        ),
        Metric(
            .counter,
            "stripe_signatures_total",
            ["account", "result"],
            "Stripe webhooks by their signature: good, accepted though from the future "
                + "(ahead), or rejected for clock, secret, unsigned, malformed."
        ),
        Metric(
            .counter,
            "audit_lost_total",
            [],
            "Changes that are in the log but not in the audit log."
        ),
        Metric(
            .counter,
            "reader_deaths_total",
            ["reader"],
            "Processes that ended while a background reader handled an entry, as found "
                + "by later processes."
        ),
        Metric(
            .counter,
            "set_aside_total",
            ["reader"],
            "Entries set aside because they crashed several processes."
        ),
        Metric(
            .counter,
            "spans_exported_total",
            [],
            "Spans accepted by the trace collector."
        ),
        Metric(
            .counter,
            "spans_dropped_total",
            [],
            "Spans dropped because the queue was full or the collector rejected them."
        ),
        Metric(
            .counter,
            "log_lines_dropped_total",
            ["reason"],
            "Log lines dropped because the reader stalled (full) or the write failed (failed)."
        ),
        Metric(
            .counter,
            "metrics_refused_total",
            [],
            "Series dropped because of the limits of this page."
        ),
        Metric(
            .gauge,
            "build_info",
            ["version", "roles"],
            "Always 1. The labels show the version and roles of this process."
        ),
        Metric(
            .counter,
            "config_reloads_total",
            ["result"],
            "Configuration reloads while the process runs: changed, same or refused."
        ),
        Metric(
            .gauge,
            "config_mistakes",
            [],
            "Errors in the configuration that was read last. 0 if it is valid."
        ),
        Metric(
            .gauge,
            "config_read_timestamp_seconds",
            [],
            "When the current configuration was read, in seconds since 1970."
        ),
        Metric(
            .gauge,
            "config_restart_options",
            [],
            "Options of the last configuration that take effect after a restart."
        ),
    ]

    private static let cluster = [
        Metric(
            .gauge,
            "watches_pending",
            [],
            "Watches that wait for their due time or their lane."
        ),
        Metric(.gauge, "watches_overdue", [], "Watches that are already due."),
        Metric(.gauge, "watches_leased", [], "Watches leased by a worker."),
        Metric(.gauge, "watches_quarantined", [], "Watches in quarantine, which need an operator."),
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
        Metric(
            .gauge,
            "outbox_undelivered",
            [],
            "Recorded events that are not yet marked for delivery."
        ),
        Metric(.gauge, "deliveries_pending", [], "Pending deliveries."),
        Metric(.gauge, "deliveries_overdue", [], "Deliveries that are already due."),
        Metric(.gauge, "deliveries_dead", [], "Stopped deliveries with dead letters."),
        Metric(
            .gauge,
            "endpoints_down",
            [],
            "Endpoints with an open circuit, without disabled ones."
        ),
        Metric(.gauge, "members", ["role"], "Live processes."),
        Metric(
            .gauge,
            "workers_wanted",
            [],
            "Workers that the cluster could use now, for polls in progress and those "
                + "its lanes would allow."
        ),
        Metric(
            .gauge,
            "incidents_open",
            ["kind"],
            "Open incidents that were reported to operators."
        ),
        Metric(
            .gauge,
            "set_aside_entries",
            ["reader"],
            "Stored entries that are set aside because they crashed several processes."
        ),
        Metric(
            .gauge,
            "webhooks_refused",
            ["account"],
            "Stripe webhooks rejected since the last accepted one, if an operator must act."
        ),
        Metric(
            .gauge,
            "store_up",
            [],
            "1 if the last read of the store succeeded. If 0, the other cluster metrics "
                + "are missing."
        ),
    ]

    /// The cluster gauges, except the one that reports whether they could be read.
    static let ofCluster = cluster.map(\.name).filter { $0 != "poller_store_up" }
}
