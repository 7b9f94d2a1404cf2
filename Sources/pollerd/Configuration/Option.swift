import Poller

/// A setting that an operator can set as a flag, an environment variable or a YAML key, in that order of precedence.
///
/// ``all`` is the single table of options. `--help`, `check-config`, files and errors are made from it. A new option
/// needs a row here and a line in ``Settings``.
struct Option: Sendable {
    /// The YAML key.
    ///
    /// With dashes instead of underscores it is the flag.
    let key: String
    /// The environment variable.
    let variable: String
    /// The variable that other programs use for the same setting, read after `variable`, or `nil` if there is none.
    let commonVariable: String?
    /// The default, or `nil` if there is none.
    let standard: String?
    /// The visibility of the value.
    let secrecy: Secrecy
    /// Whether a running process applies a changed value without a restart.
    let isReloaded: Bool
    /// One line for `--help`, `check-config` and error messages.
    let help: String

    /// The visibility of an option's value.
    enum Secrecy: Sendable {
        /// The value may be shown.
        case open
        /// The value may be shown without the password that it may contain.
        case password
        /// The value must not be shown.
        case hidden
    }

    init(
        _ key: String,
        _ variable: String,
        _ standard: String?,
        secrecy: Secrecy = .open,
        common commonVariable: String? = nil,
        isReloaded: Bool = false,
        _ help: String
    ) {
        self.key = key
        self.variable = variable
        self.commonVariable = commonVariable
        self.standard = standard
        self.secrecy = secrecy
        self.isReloaded = isReloaded
        self.help = help
    }

    /// Every option, in the order in which `check-config` prints them.
    static let all: [Option] = rows.flatMap { row in [row, row.inFile].compactMap { $0 } }

    /// The options without those that name a file of another option.
    static let rows = ofListening + ofRunning + ofKeeping

    /// Options for upstreams, delivery and concurrency.
    private static let ofRunning: [Option] = [
        Option(
            "stripe_api_key",
            "STRIPE_API_KEY",
            nil,
            secrecy: .hidden,
            isReloaded: true,
            "key of the default account; a read-only restricted one is enough"
        ),
        Option(
            "stripe_api_base",
            "POLLER_STRIPE_API_BASE",
            "https://api.stripe.com",
            isReloaded: true,
            "where Stripe is"
        ),
        Option(
            "stripe_webhook_secret",
            "STRIPE_WEBHOOK_SECRET",
            nil,
            secrecy: .hidden,
            isReloaded: true,
            "whsec_… of the default account's endpoint; several by comma while one is rolled"
        ),
        Option(
            "stripe_webhook_tolerance",
            "POLLER_STRIPE_WEBHOOK_TOLERANCE",
            "5m",
            isReloaded: true,
            "how old the signature of a Stripe webhook may be"
        ),
        Option(
            "stripe_enqueue_unknown",
            "POLLER_STRIPE_ENQUEUE_UNKNOWN",
            "false",
            isReloaded: true,
            "true watches what Stripe's webhooks are about and nobody has enqueued"
        ),
        Option(
            "stripe_sweep",
            "POLLER_STRIPE_SWEEP",
            "auto",
            isReloaded: true,
            "how often an account's events are read: auto (by its read budget), off, or a span"
        ),
        Option(
            "stripe_sweep_paid",
            "POLLER_STRIPE_SWEEP_PAID",
            "60s",
            isReloaded: true,
            "with auto, the longest pause for a day after money arrived, while half of the budget is left"
        ),
        Option(
            "source_expiry",
            "POLLER_SOURCE_EXPIRY",
            "",
            isReloaded: true,
            "changes to when Stripe ends sources, by comma: eps=1h/6h (pending/chargeable)"
        ),
        Option(
            "smtp_url",
            "POLLER_SMTP_URL",
            nil,
            secrecy: .hidden,
            "smtp://[user:pass@]host:port or smtps://…; without it no mail is sent"
        ),
        Option("mail_from", "POLLER_MAIL_FROM", nil, "sender of mails"),
        Option(
            "templates",
            "POLLER_TEMPLATES",
            nil,
            "folder with words for payers (de.txt) and mails (mail.html, mail.txt) in place of ours"
        ),
        Option(
            "public_url",
            "POLLER_PUBLIC_URL",
            nil,
            "where customers reach this API, https://…; mails then say where to stop them"
        ),
        Option(
            "apple_app_site_association",
            "POLLER_APPLE_APP_SITE_ASSOCIATION",
            nil,
            isReloaded: true,
            "JSON that the API serves under /.well-known, so that its links open an iOS app"
        ),
        Option(
            "asset_links",
            "POLLER_ASSET_LINKS",
            nil,
            isReloaded: true,
            "JSON of /.well-known/assetlinks.json, the same for an Android app"
        ),
        Option(
            "webhook_secret",
            "POLLER_WEBHOOK_SECRET",
            nil,
            secrecy: .hidden,
            "whsec_… that signs inline webhooks; made on first start and kept in Redis"
        ),
        Option(
            "operator_notify",
            "POLLER_OPERATOR_NOTIFY",
            "",
            "who is told what is wrong with the cluster, by comma: mailto:ops@example.com, https://…"
        ),
        Option("incident_hold", "POLLER_INCIDENT_HOLD", "1m", "how long trouble lasts to be told"),
        Option(
            "endpoint_failing_after",
            "POLLER_ENDPOINT_FAILING_AFTER",
            "5m",
            "how long a receiver accepts nothing before operators are notified"
        ),
        Option(
            "master_key",
            "POLLER_MASTER_KEY",
            nil,
            secrecy: .hidden,
            "seals secrets in Redis: openssl rand -hex 32; by comma: the first seals, all open"
        ),
        Option(
            "ca_file",
            "POLLER_CA_FILE",
            nil,
            common: "SSL_CERT_FILE",
            "PEM file of authorities to trust besides this machine's: receivers, upstreams, relay, Redis; or SSL_CERT_FILE"
        ),
        Option(
            "allow_cidrs",
            "POLLER_ALLOW_CIDRS",
            "",
            "private addresses that webhooks and upstreams may be at, by comma; the same for every process"
        ),
        Option(
            "nat64_prefixes",
            "POLLER_NAT64_PREFIXES",
            "",
            "translators of this network besides 64:ff9b::/96, by comma: 2001:db8:64::/96"
        ),
        Option(
            "worker_concurrency",
            "POLLER_WORKER_CONCURRENCY",
            "256",
            "polls in flight at once in this process"
        ),
        Option(
            "lease",
            "POLLER_LEASE",
            "12s",
            "how long a poll may hold a source; a dead worker's sources wait this long"
        ),
        Option(
            "wait_replicas",
            "POLLER_WAIT_REPLICAS",
            "0",
            "replicas that must have a watch before it is accepted and an event before it is told"
        ),
        Option(
            "wait_timeout",
            "POLLER_WAIT_TIMEOUT",
            "50ms",
            "how long to wait for those replicas; then the request is refused with 503"
        ),
        Option("poll_timeout", "POLLER_POLL_TIMEOUT", "8s", "the longest one poll may take"),
        Option(
            "quarantine_after",
            "POLLER_QUARANTINE_AFTER",
            "12h",
            "how long answers about one source make no sense until it is set aside for a person"
        ),
        Option(
            "lane_rate",
            "POLLER_LANE_RATE",
            "20",
            isReloaded: true,
            "polls a second for each account and upstream endpoint; 0 is unlimited"
        ),
        Option(
            "lane_burst",
            "POLLER_LANE_BURST",
            "5",
            isReloaded: true,
            "polls that may follow each other at once; keep rate + burst within the upstream's limit"
        ),
        Option(
            "lane_concurrency",
            "POLLER_LANE_CONCURRENCY",
            "20",
            isReloaded: true,
            "polls in flight for each account and upstream endpoint"
        ),
        Option(
            "delivery_concurrency",
            "POLLER_DELIVERY_CONCURRENCY",
            "256",
            "deliveries in flight at once in this process, and as many again that a receiver lets wait"
        ),
        Option(
            "endpoint_concurrency",
            "POLLER_ENDPOINT_CONCURRENCY",
            "16",
            "deliveries in flight to one endpoint"
        ),
        Option(
            "delivery_lease",
            "POLLER_DELIVERY_LEASE",
            "45s",
            "how long an attempt may hold a delivery"
        ),
        Option(
            "drain_timeout",
            "POLLER_DRAIN_TIMEOUT",
            "25s",
            "how long running work may go on after SIGTERM"
        ),
    ]
}
