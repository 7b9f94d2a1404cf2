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

    private static func metrics(_ rows: [(Kind, String, [String], String)]) -> [Metric] {
        rows.map { Metric($0, $1, $2, $3) }
    }

    private static let workers = metrics([
        (.counter, "polls_total", ["result"], "Polls by result."),
        (.counter, "changes_total", [], "Recorded changes, each delivered to its subscribers."),
        (
            .counter, "charges_total", ["result"],
            "Attempts to charge a source, or to find its charge."
        ),
        (
            .counter, "acts_total", ["act", "result"],
            "Holds captured or released and intents cancelled before a deadline."
        ),
        (.histogram, "poll_duration_seconds", [], "Response time of polls."),
        (.histogram, "due_lag_seconds", [], "Delay of polls after their due time."),
        (.counter, "claims_total", ["loop"], "Claims answered by the store."),
        (.counter, "visits_total", ["loop"], "Exchanges with a partition of a queue."),
        (
            .counter, "leases_lost_total", ["loop"],
            "Results rejected because the lease was lost in the meantime."
        ),
        (
            .counter, "leases_recovered_total", ["loop"],
            "Items taken over from processes that died."
        ),
        (.counter, "wakes_missed_total", ["loop"], "Due items found by the claim of each second."),
        (
            .counter, "sweep_events_total", ["account"],
            "Events of an account that the sweep has read."
        ),
        (
            .gauge, "sweep_behind_seconds", ["account"],
            "Delay of an account's sweep compared to its own pace."
        ),
        (
            .counter, "webhook_missed_total", ["account"],
            "Events that the sweep has found without a webhook."
        ),
        (.gauge, "reads_30d", ["account"], "GETs of an account in thirty days."),
        (
            .gauge, "read_budget_30d", ["account"],
            "GETs that the upstream allows an account in thirty days, by its transactions."
        ),
        (
            .gauge, "read_stretch", ["account"],
            "Factor by which an account's polls are slowed down to keep to its budget."
        ),
    ])

    private static let deliveries = metrics([
        (.counter, "outbox_entries_total", [], "Events marked for delivery."),
        (
            .counter, "delivery_marks_total", [],
            "Deliveries made due by events, one for each receiver of an event."
        ),
        (.counter, "deliveries_total", ["scheme", "result"], "Attempts by outcome."),
        (
            .counter, "deliveries_put_off_total", [],
            "Attempts postponed because slow receivers of their account use all of its slots."
        ),
        (.histogram, "delivery_lag_seconds", [], "Time from the recorded event to its delivery."),
        (.gauge, "endpoints", [], "Registered endpoints that this process knows."),
        (
            .counter, "endpoints_disabled_total", [],
            "Endpoints disabled because they failed too long."
        ),
    ])

    private static let servers = metrics([
        (.counter, "http_requests_total", ["method", "route", "status"], "API requests."),
        (
            .histogram, "http_request_duration_seconds", ["route"],
            "Response time of API requests, including long polls."
        ),
        (
            .counter, "connections_refused_total", ["listener"],
            "Connections rejected because their address has reached its limit."
        ),
        (.counter, "gateway_connections_total", ["transport"], "Subscribers that have connected."),
        (.counter, "stripe_webhooks_total", ["outcome"], "Stripe webhooks by result."),
        (
            .counter, "stripe_signatures_total", ["account", "result"],
            "Stripe webhooks by their signature: good, accepted though from the future (ahead), or "
                + "rejected for clock, secret, unsigned, malformed."
        ),
        (.counter, "audit_lost_total", [], "Changes that are in the log but not in the audit log."),
        (
            .counter, "reader_deaths_total", ["reader"],
            "Processes that ended while a background reader handled an entry, as found by later "
                + "processes."
        ),
        (
            .counter, "set_aside_total", ["reader"],
            "Entries set aside because they crashed several processes."
        ),
        (.counter, "spans_exported_total", [], "Spans accepted by the trace collector."),
        (
            .counter, "spans_dropped_total", [],
            "Spans dropped because the queue was full or the collector rejected them."
        ),
        (
            .counter, "log_lines_dropped_total", ["reason"],
            "Log lines dropped because the reader stalled (full) or the write failed (failed)."
        ),
        (
            .counter, "metrics_refused_total", [],
            "Series dropped because of the limits of this page."
        ),
        (
            .gauge, "build_info", ["version", "roles"],
            "Always 1. The labels show the version and roles of this process."
        ),
        (
            .counter, "config_reloads_total", ["result"],
            "Configuration reloads while the process runs: changed, same or refused."
        ),
        (
            .gauge, "config_mistakes", [],
            "Errors in the configuration that was read last. 0 if it is valid."
        ),
        (
            .gauge, "config_read_timestamp_seconds", [],
            "When the current configuration was read, in seconds since 1970."
        ),
        (
            .gauge, "config_restart_options", [],
            "Options of the last configuration that take effect after a restart."
        ),
    ])

    private static let cluster = metrics([
        (.gauge, "watches_pending", [], "Watches that wait for their due time or their lane."),
        (.gauge, "watches_overdue", [], "Watches that are already due."),
        (.gauge, "watches_leased", [], "Watches leased by a worker."),
        (.gauge, "watches_quarantined", [], "Watches in quarantine, which need an operator."),
        (
            .gauge, "watches_oldest_overdue_seconds", [],
            "How long the longest overdue watch has been due."
        ),
        (
            .gauge, "lanes", ["state"],
            "Lanes by state: paused, open, probing, held, slowed, flowing."
        ),
        (.gauge, "outbox_undelivered", [], "Recorded events that are not yet marked for delivery."),
        (.gauge, "deliveries_pending", [], "Pending deliveries."),
        (.gauge, "deliveries_overdue", [], "Deliveries that are already due."),
        (.gauge, "deliveries_dead", [], "Stopped deliveries with dead letters."),
        (.gauge, "endpoints_down", [], "Endpoints with an open circuit, without disabled ones."),
        (.gauge, "members", ["role"], "Live processes."),
        (
            .gauge, "workers_wanted", [],
            "Workers that the cluster could use now, for polls in progress and those its lanes "
                + "would allow."
        ),
        (.gauge, "incidents_open", ["kind"], "Open incidents that were reported to operators."),
        (
            .gauge, "set_aside_entries", ["reader"],
            "Stored entries that are set aside because they crashed several processes."
        ),
        (
            .gauge, "webhooks_refused", ["account"],
            "Stripe webhooks rejected since the last accepted one, if an operator must act."
        ),
        (
            .gauge, "store_up", [],
            "1 if the last read of the store succeeded. If 0, the other cluster metrics are "
                + "missing."
        ),
    ])

    /// The cluster gauges, except the one that reports whether they could be read.
    static let ofCluster = cluster.map(\.name).filter { $0 != "poller_store_up" }
}
