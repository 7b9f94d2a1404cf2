import Poller

extension Option {
    /// Options for retention, search, logs and traces.
    static let ofKeeping: [Option] = [
        Option(
            "outbox_retention",
            "POLLER_OUTBOX_RETENTION",
            "24h",
            "how long recorded events stay readable for live clients"
        ),
        Option(
            "body_retention",
            "POLLER_BODY_RETENTION",
            "7d",
            "how long events of closed watches keep the upstream's object and the metadata, "
                + "and deliveries that went well their attempts"
        ),
        Option(
            "closed_retention",
            "POLLER_CLOSED_RETENTION",
            "30d",
            "how long closed watches and their history stay readable"
        ),
        Option(
            "afterlife",
            "POLLER_AFTERLIFE",
            "180d",
            "how long a watch whose money may come back hears of that; 0: as long as any"
        ),
        Option(
            "search",
            "POLLER_SEARCH",
            SearchKeys.standard.names.joined(separator: ","),
            "names of the metadata by which watches are found, by comma"
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
            "collector of traces (OTLP over HTTP), http://collector:4318; or OTEL_EXPORTER_OTLP_ENDPOINT"
        ),
        Option(
            "otlp_headers",
            "POLLER_OTLP_HEADERS",
            nil,
            secrecy: .hidden,
            common: "OTEL_EXPORTER_OTLP_HEADERS",
            "what the collector wants, by comma: authorization=Bearer%20…; or OTEL_EXPORTER_OTLP_HEADERS"
        ),
        Option(
            "otlp_service",
            "POLLER_OTLP_SERVICE",
            nil,
            common: "OTEL_SERVICE_NAME",
            "this process in traces; pollerd-ROLE, and pollerd where it has all; or OTEL_SERVICE_NAME"
        ),
    ]
}
