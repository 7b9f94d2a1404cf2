import Poller

extension Option {
    /// Options for the store, the listeners, access, and limits per client.
    static let ofListening: [Option] = [
        Option(
            "redis_url",
            "POLLER_REDIS_URL",
            "redis://127.0.0.1:6379/0",
            secrecy: .password,
            "URL of the store: redis://, rediss://, unix://, redis+cluster://, redis+sentinel://"
        ),
        Option("namespace", "POLLER_NAMESPACE", "poller", "key prefix in Redis"),
        Option(
            "partitions",
            "POLLER_PARTITIONS",
            "auto",
            "parts of a new store, 1 to 1024, forty for each master expected; auto: 16, on a Redis Cluster 64"
        ),
        Option("api_bind", "POLLER_API_BIND", "127.0.0.1:8080", "address of the HTTP API"),
        Option(
            "gateway_bind",
            "POLLER_GATEWAY_BIND",
            "127.0.0.1:8081",
            "address of the WebSocket gateway; off: a notifier has none, and reads no event for it"
        ),
        Option(
            "allow_origins",
            "POLLER_ALLOW_ORIGINS",
            "",
            "origins whose pages may listen at the gateway, by comma: https://shop.example"
        ),
        Option(
            "base_path",
            "POLLER_BASE_PATH",
            nil,
            "path below which a proxy publishes the API, /poller; without it that of public_url"
        ),
        Option(
            "trusted_proxies",
            "POLLER_TRUSTED_PROXIES",
            "",
            "addresses of proxies whose X-Forwarded-Prefix is believed, by comma: 10.0.0.5, 10.1.0.0/16"
        ),
        Option(
            "admin_bind",
            "POLLER_ADMIN_BIND",
            "127.0.0.1:9090",
            "address of /livez, /readyz and /metrics"
        ),
        Option(
            "admin_public",
            "POLLER_ADMIN_PUBLIC",
            "false",
            "true lets admin_bind leave loopback; nothing there asks for a key"
        ),
        Option(
            "api_keys_file",
            "POLLER_API_KEYS_FILE",
            nil,
            isReloaded: true,
            "file with an API key a line, besides those that pollerd key create makes"
        ),
        Option(
            "connections_per_address",
            "POLLER_CONNECTIONS_PER_ADDRESS",
            nil,
            "connections of one address at each listener; name many behind a proxy of another host"
        ),
        Option(
            "api_tls_certificate",
            "POLLER_API_TLS_CERTIFICATE",
            nil,
            isReloaded: true,
            "PEM file with the API's certificate chain; it speaks TLS then; read again when renewed"
        ),
        Option(
            "api_tls_key",
            "POLLER_API_TLS_KEY",
            nil,
            isReloaded: true,
            "PEM file with the key to it"
        ),
        Option(
            "gateway_tls_certificate",
            "POLLER_GATEWAY_TLS_CERTIFICATE",
            nil,
            isReloaded: true,
            "PEM file with the gateway's certificate chain"
        ),
        Option(
            "gateway_tls_key",
            "POLLER_GATEWAY_TLS_KEY",
            nil,
            isReloaded: true,
            "PEM file with the key to it"
        ),
        Option(
            "admin_tls_certificate",
            "POLLER_ADMIN_TLS_CERTIFICATE",
            nil,
            isReloaded: true,
            "PEM file with the admin listener's certificate chain"
        ),
        Option(
            "admin_tls_key",
            "POLLER_ADMIN_TLS_KEY",
            nil,
            isReloaded: true,
            "PEM file with the key to it"
        ),
        Option(
            "admin_client_ca",
            "POLLER_ADMIN_CLIENT_CA",
            nil,
            isReloaded: true,
            "PEM file with who must have signed the certificates of the admin listener's clients"
        ),
        Option(
            "requests_per_key",
            "POLLER_REQUESTS_PER_KEY",
            "1000",
            "requests a second of one API key at each process; twice as many at once; 0 is unlimited"
        ),
        Option(
            "requests_per_address",
            "POLLER_REQUESTS_PER_ADDRESS",
            nil,
            "requests a second of one address, 0: unlimited; 2000, and of this machine unlimited"
        ),
        Option(
            "waits_per_key",
            "POLLER_WAITS_PER_KEY",
            "2048",
            "long polls of one API key at each process, 0: unlimited; half of the 4096 there may be"
        ),
        Option(
            "streams_per_key",
            "POLLER_STREAMS_PER_KEY",
            "25000",
            "live connections of one API key at each gateway, 0: unlimited; half of those there may be"
        ),
        Option(
            "watches_per_account",
            "POLLER_WATCHES_PER_ACCOUNT",
            "0",
            isReloaded: true,
            "open watches of an account; 0 is unlimited; an account of the file may have its own limits"
        ),
        Option(
            "endpoints_per_account",
            "POLLER_ENDPOINTS_PER_ACCOUNT",
            "0",
            isReloaded: true,
            "registered endpoints of an account; 0 is unlimited, up to the 10,000 there may be"
        ),
    ]
}
