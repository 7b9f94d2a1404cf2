import PollerWatches

extension Option {
    /// Options for retention, search, logs and traces.
    static let ofKeeping: [Option] = [
        Option(
            "outbox_retention",
            "POLLER_OUTBOX_RETENTION",
            "24h",
            "how long live clients can resume from recorded events"
        ),
        Option(
            "body_retention",
            "POLLER_BODY_RETENTION",
            "7d",
            "how long events of closed watches keep the upstream's object and metadata, "
                + "and successful deliveries keep their attempts"
        ),
        Option(
            "closed_retention",
            "POLLER_CLOSED_RETENTION",
            "30d",
            "retention of closed watches and their history"
        ),
        Option(
            "afterlife",
            "POLLER_AFTERLIFE",
            "180d",
            "how long a closed watch observes refunds and disputes at most, if the payer or the "
                + "bank may take the money back; else, and with 0: as long as closed_retention"
        ),
        Option(
            "search",
            "POLLER_SEARCH",
            SearchKeys.standard.names.joined(separator: ","),
            "metadata keys that the search indexes, separated by commas"
        ),
        Option("log_level", "POLLER_LOG_LEVEL", "info", "trace, debug, info, warning or error"),
        Option(
            "log_format",
            "POLLER_LOG_FORMAT",
            nil,
            "text or json; text on a terminal, else json"
        ),
        Option(
            "otlp_endpoint",
            "POLLER_OTLP_ENDPOINT",
            nil,
            common: "OTEL_EXPORTER_OTLP_ENDPOINT",
            "URL of the trace collector (OTLP over HTTP), http://collector:4318; or "
                + "OTEL_EXPORTER_OTLP_ENDPOINT"
        ),
        Option(
            "otlp_headers",
            "POLLER_OTLP_HEADERS",
            nil,
            secrecy: .hidden,
            common: "OTEL_EXPORTER_OTLP_HEADERS",
            "headers for the collector, separated by commas: authorization=Bearer%20…; or "
                + "OTEL_EXPORTER_OTLP_HEADERS"
        ),
        Option(
            "otlp_service",
            "POLLER_OTLP_SERVICE",
            nil,
            common: "OTEL_SERVICE_NAME",
            "service name in traces; pollerd-ROLE, or pollerd for a process with all roles; or "
                + "OTEL_SERVICE_NAME"
        ),
    ]
}
