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
            "partitions of a new store, 1 to 1024, about 40 per expected master; auto: 16, or "
                + "64 on a Redis Cluster"
        ),
        Option("api_bind", "POLLER_API_BIND", "127.0.0.1:8080", "address of the HTTP API"),
        Option(
            "gateway_bind",
            "POLLER_GATEWAY_BIND",
            "127.0.0.1:8081",
            "address of the WebSocket gateway; off: the notifier runs no gateway"
        ),
        Option(
            "allow_origins",
            "POLLER_ALLOW_ORIGINS",
            "",
            "web origins that may connect to the gateway, separated by commas: https://shop.example"
        ),
        Option(
            "base_path",
            "POLLER_BASE_PATH",
            nil,
            "path prefix under which a proxy publishes the API, /poller; by default the path "
                + "of public_url"
        ),
        Option(
            "trusted_proxies",
            "POLLER_TRUSTED_PROXIES",
            "",
            "proxies whose X-Forwarded-Prefix is trusted, separated by commas: 10.0.0.5, "
                + "10.1.0.0/16"
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
            "true allows an admin_bind that is not loopback; the admin listener requires no key"
        ),
        Option(
            "api_keys_file",
            "POLLER_API_KEYS_FILE",
            nil,
            isReloaded: true,
            "file with one API key per line, in addition to keys from pollerd key create"
        ),
        Option(
            "connections_per_address",
            "POLLER_CONNECTIONS_PER_ADDRESS",
            nil,
            "connections per client address at each listener; set it high behind a proxy on "
                + "another host"
        ),
        Option(
            "api_tls_certificate",
            "POLLER_API_TLS_CERTIFICATE",
            nil,
            isReloaded: true,
            "PEM file with the API's certificate chain; enables TLS; reloaded when it changes"
        ),
        Option(
            "api_tls_key",
            "POLLER_API_TLS_KEY",
            nil,
            isReloaded: true,
            "PEM file with the private key of the certificate"
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
            "PEM file with the private key of the certificate"
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
            "PEM file with the private key of the certificate"
        ),
        Option(
            "admin_client_ca",
            "POLLER_ADMIN_CLIENT_CA",
            nil,
            isReloaded: true,
            "PEM file with the authorities that must have signed the admin listener's client "
                + "certificates"
        ),
        Option(
            "requests_per_key",
            "POLLER_REQUESTS_PER_KEY",
            "1000",
            "requests per second and API key at each process, with bursts of twice as many; 0 "
                + "is unlimited"
        ),
        Option(
            "requests_per_address",
            "POLLER_REQUESTS_PER_ADDRESS",
            nil,
            "requests per second and client address, 0: unlimited; by default 2000, and "
                + "unlimited from this machine"
        ),
        Option(
            "waits_per_key",
            "POLLER_WAITS_PER_KEY",
            "2048",
            "long polls per API key at each process, 0: unlimited; by default half of the "
                + "process's 4096"
        ),
        Option(
            "streams_per_key",
            "POLLER_STREAMS_PER_KEY",
            "25000",
            "live connections per API key at each gateway, 0: unlimited; by default half of "
                + "the gateway's capacity"
        ),
        Option(
            "watches_per_account",
            "POLLER_WATCHES_PER_ACCOUNT",
            "0",
            isReloaded: true,
            "open watches per account; 0 is unlimited; the file can set other limits per account"
        ),
        Option(
            "endpoints_per_account",
            "POLLER_ENDPOINTS_PER_ACCOUNT",
            "0",
            isReloaded: true,
            "registered endpoints per account; 0 is unlimited, up to 10,000 in the cluster"
        ),
    ]
}
