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
            "API key of the default account; a read-only restricted key is enough"
        ),
        Option(
            "stripe_api_base",
            "POLLER_STRIPE_API_BASE",
            "https://api.stripe.com",
            isReloaded: true,
            "base URL of the Stripe API"
        ),
        Option(
            "stripe_webhook_secret",
            "STRIPE_WEBHOOK_SECRET",
            nil,
            secrecy: .hidden,
            isReloaded: true,
            "signing secret (whsec_…) of the default account's webhook endpoint; several, "
                + "separated by commas, during rotation"
        ),
        Option(
            "stripe_webhook_tolerance",
            "POLLER_STRIPE_WEBHOOK_TOLERANCE",
            "5m",
            isReloaded: true,
            "maximum age of a Stripe webhook's signature"
        ),
        Option(
            "stripe_enqueue_unknown",
            "POLLER_STRIPE_ENQUEUE_UNKNOWN",
            "false",
            isReloaded: true,
            "true enqueues unknown objects that Stripe's webhooks name"
        ),
        Option(
            "stripe_sweep",
            "POLLER_STRIPE_SWEEP",
            "auto",
            isReloaded: true,
            "interval between reads of an account's events: auto (from its read budget), off, "
                + "or a duration"
        ),
        Option(
            "stripe_sweep_paid",
            "POLLER_STRIPE_SWEEP_PAID",
            "60s",
            isReloaded: true,
            "with auto, the longest interval for a day after a payment, while half of the read "
                + "budget is left"
        ),
        Option(
            "source_expiry",
            "POLLER_SOURCE_EXPIRY",
            "",
            isReloaded: true,
            "overrides of Stripe's source lifetimes, separated by commas: eps=1h/6h "
                + "(pending/chargeable)"
        ),
        Option(
            "smtp_url",
            "POLLER_SMTP_URL",
            nil,
            secrecy: .hidden,
            "mail relay, smtp://[user:pass@]host:port or smtps://…; without it no mail is sent"
        ),
        Option("mail_from", "POLLER_MAIL_FROM", nil, "sender address of mails"),
        Option(
            "templates",
            "POLLER_TEMPLATES",
            nil,
            "folder with your own texts for payers (de.txt) and mails (mail.html, mail.txt)"
        ),
        Option(
            "public_url",
            "POLLER_PUBLIC_URL",
            nil,
            "public https:// URL of this API; mails then contain an unsubscribe link"
        ),
        Option(
            "apple_app_site_association",
            "POLLER_APPLE_APP_SITE_ASSOCIATION",
            nil,
            isReloaded: true,
            "JSON served as /.well-known/apple-app-site-association, so that links open an iOS app"
        ),
        Option(
            "asset_links",
            "POLLER_ASSET_LINKS",
            nil,
            isReloaded: true,
            "JSON served as /.well-known/assetlinks.json, so that links open an Android app"
        ),
        Option(
            "webhook_secret",
            "POLLER_WEBHOOK_SECRET",
            nil,
            secrecy: .hidden,
            "secret (whsec_…) that signs inline webhooks; generated at first start and stored "
                + "in Redis"
        ),
        Option(
            "operator_notify",
            "POLLER_OPERATOR_NOTIFY",
            "",
            "recipients of incident notifications, separated by commas: "
                + "mailto:ops@example.com, https://…"
        ),
        Option(
            "incident_hold",
            "POLLER_INCIDENT_HOLD",
            "1m",
            "how long a problem must last before it is reported"
        ),
        Option(
            "endpoint_failing_after",
            "POLLER_ENDPOINT_FAILING_AFTER",
            "5m",
            "how long an endpoint must fail before operators are notified"
        ),
        Option(
            "master_key",
            "POLLER_MASTER_KEY",
            nil,
            secrecy: .hidden,
            "encrypts secrets in Redis: openssl rand -hex 32; of several, separated by commas, "
                + "the first encrypts and all decrypt"
        ),
        Option(
            "ca_file",
            "POLLER_CA_FILE",
            nil,
            common: "SSL_CERT_FILE",
            "PEM file of additional trusted authorities for endpoints, upstreams, relay and "
                + "Redis; or SSL_CERT_FILE"
        ),
        Option(
            "allow_cidrs",
            "POLLER_ALLOW_CIDRS",
            "",
            "private networks that webhooks and upstreams may use, separated by commas; set "
                + "the same in every process"
        ),
        Option(
            "nat64_prefixes",
            "POLLER_NAT64_PREFIXES",
            "",
            "NAT64 prefixes of this network besides 64:ff9b::/96, separated by commas: "
                + "2001:db8:64::/96"
        ),
        Option(
            "worker_concurrency",
            "POLLER_WORKER_CONCURRENCY",
            "256",
            "concurrent polls of this process"
        ),
        Option(
            "lease",
            "POLLER_LEASE",
            "12s",
            "lease of a poll; after a worker dies, its sources wait this long"
        ),
        Option(
            "wait_replicas",
            "POLLER_WAIT_REPLICAS",
            "0",
            "replicas that must confirm a watch before it is accepted, and an event before it "
                + "is delivered"
        ),
        Option(
            "wait_timeout",
            "POLLER_WAIT_TIMEOUT",
            "50ms",
            "how long to wait for these replicas before the request fails with 503"
        ),
        Option("poll_timeout", "POLLER_POLL_TIMEOUT", "8s", "timeout of one poll"),
        Option(
            "quarantine_after",
            "POLLER_QUARANTINE_AFTER",
            "12h",
            "how long a source's responses must stay invalid before the source is quarantined"
        ),
        Option(
            "lane_rate",
            "POLLER_LANE_RATE",
            "20",
            isReloaded: true,
            "polls per second for each account and upstream endpoint; 0 is unlimited"
        ),
        Option(
            "lane_burst",
            "POLLER_LANE_BURST",
            "5",
            isReloaded: true,
            "burst of polls; keep rate + burst within the upstream's limit"
        ),
        Option(
            "lane_concurrency",
            "POLLER_LANE_CONCURRENCY",
            "20",
            isReloaded: true,
            "concurrent polls for each account and upstream endpoint"
        ),
        Option(
            "delivery_concurrency",
            "POLLER_DELIVERY_CONCURRENCY",
            "256",
            "concurrent deliveries of this process, plus as many to slow receivers"
        ),
        Option(
            "endpoint_concurrency",
            "POLLER_ENDPOINT_CONCURRENCY",
            "16",
            "concurrent deliveries to one endpoint"
        ),
        Option(
            "delivery_lease",
            "POLLER_DELIVERY_LEASE",
            "45s",
            "lease of a delivery attempt"
        ),
        Option(
            "drain_timeout",
            "POLLER_DRAIN_TIMEOUT",
            "25s",
            "how long running work may take to finish after SIGTERM"
        ),
    ]
}
