import Foundation
import Logging
import PollerAPI
import PollerChannels
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTracing
import PollerUpstreams
import PollerWatches
import RedisClient
import StripeAPI

/// The configuration as the program uses it: parsed, checked, and consistent.
///
/// Every mistake is found here, before a connection is made. A process that started with half of its options understood
/// would fail later, possibly at night. The first mistake is reported with all spellings of the option.
struct Settings: Sendable {
    var redisURL: RedisURL
    let namespace: String
    /// The number of partitions of a new store, or `nil` for the default.
    let partitions: Int?
    let apiBind: ListenAddress
    /// The address of the gateway, or `nil` if it is off.
    let gatewayBind: ListenAddress?
    /// The origins of pages that may connect to the gateway.
    let allowedOrigins: Set<String>
    let adminBind: ListenAddress
    /// TLS files by listener name.
    ///
    /// A listener without an entry uses plain HTTP.
    let tls: [String: ListenerTLSFiles]
    let apiKeysFile: String?
    let addresses: PerAddressLimit
    let rates: RequestLimits
    /// The maximum of live connections per key at the gateway.
    ///
    /// 0 means no limit.
    let streamsPerKey: Int
    let accountLimits: AccountLimits
    var stripeAPIKey: String?
    var stripeAPIBase: String
    /// The signing secrets of the default account's webhooks.
    ///
    /// Empty if no webhooks are expected.
    var stripeWebhookSecrets: [String]
    let stripeWebhookTolerance: Duration
    let stripeEnqueuesUnknown: Bool
    let stripeSweep: SweepChoice
    /// The longest interval between two sweeps of an account that received money within a day.
    let stripeSweepPaid: Duration
    let sourceExpiry: SourceExpiry
    /// The accounts, upstreams and endpoints of the configuration file.
    let sections: FileSections
    /// The mail relay and the sender, or `nil` if no email is sent.
    let mail: (relay: SMTPRelay, sender: MailSender)?
    /// The texts for payers and the mail templates, built in or replaced by the operator.
    let templates: MailTemplates
    /// The URL at which customers reach the API, or `nil` if they cannot.
    let publicURL: String?
    /// The apps that open links to the API.
    let appLinks: AppLinks
    /// The path at which a proxy publishes the API.
    let basePath: BasePath
    /// The proxies that may set the base path by a header.
    let proxies: [AddressRange]
    /// The secret for inline webhooks, or `nil` to use the cluster's secret in Redis.
    let webhookSecret: WebhookSecret?
    /// Certificate authorities trusted in addition to the machine's, or `nil` for none.
    let authorities: CertificateAuthorities?
    /// Recipients of cluster incidents that are not registered endpoints.
    let operators: [NotifyURL]
    /// The time that an incident must last before operators are notified, and that it must be over before its end is
    /// sent.
    let incidentHold: Duration
    /// The time without an accepted delivery after which operators are notified about a recipient.
    let endpointFailingAfter: Duration
    /// The keys that encrypt secrets in the store.
    let masterKeys: MasterKeys
    var allowedRanges: [AddressRange]
    /// The NAT64 prefixes of this network, in addition to the well-known one.
    let translators: [NAT64Prefix]
    let workerConcurrency: Int
    let lease: Duration
    let pollTimeout: Duration
    let quarantineAfter: Duration
    /// The replicas to wait for, or `nil` to wait for none.
    let durability: RedisDurability?
    let lane: LaneLimit
    let deliveryConcurrency: Int
    let endpointConcurrency: Int
    let deliveryLease: Duration
    let drainTimeout: Duration
    let retention: RetentionSpans
    /// The metadata names by which watches can be found.
    let searchKeys: SearchKeys
    let logLevel: Logger.Level
    let logFormat: LogFormat
    /// The trace collector and the service name, or `nil` if tracing is off.
    let traces: (collector: OTLPCollector, service: String?)?
    let announcer: Announcer

    /// Parses every option.
    ///
    /// With `isTrial`, mistakes in the sections of the file are ignored, because the caller reports them.
    ///
    /// - Throws: ``ConfigurationError`` for the first wrong option or section, with the correct form.
    init(_ configuration: Configuration, isTrial: Bool = false) throws(ConfigurationError) {
        if !isTrial, let mistake = configuration.sectionMistakes.first { throw mistake }
        let read = OptionReader(values: configuration.values)
        try read.checkQuoting()
        do {
            redisURL = try RedisURL(read.text("redis_url") ?? "")
        } catch {
            throw read.wrong("redis_url", "\(error)")
        }
        namespace = try read.name("namespace")
        partitions =
            read.text("partitions") == "auto" ? nil : try read.count("partitions", 1...1024)
        apiBind = try read.bind("api_bind")
        gatewayBind = read.text("gateway_bind") == "off" ? nil : try read.bind("gateway_bind")
        allowedOrigins = try read.origins("allow_origins")
        adminBind = try read.bind("admin_bind")
        let isAdminPublic = try read.choice("admin_public", Bool.init)
        tls = try read.tls()
        guard adminBind.isLoopback || isAdminPublic || tls["admin"]?.clientCA != nil else {
            throw read.wrong(
                "admin_bind",
                "is public, but the admin listener requires no key: bind a loopback address, set "
                    + "POLLER_ADMIN_PUBLIC=true if only your monitoring can connect to it, or set "
                    + "POLLER_ADMIN_CLIENT_CA to require a client certificate"
            )
        }
        apiKeysFile = read.text("api_keys_file")
        addresses =
            read.text("connections_per_address") == nil
            ? .half : .most(try read.count("connections_per_address", 1...1_000_000))
        rates = RequestLimits(
            perKey: try read.count("requests_per_key", 0...1_000_000),
            perAddress: read.text("requests_per_address") == nil
                ? nil : try read.count("requests_per_address", 0...1_000_000),
            waitsPerKey: try read.count("waits_per_key", 0...1_000_000)
        )
        streamsPerKey = try read.count("streams_per_key", 0...1_000_000)
        accountLimits = configuration.sections.limits(
            standard: AccountLimit(
                watches: try read.count("watches_per_account", 0...1_000_000_000),
                endpoints: try read.count("endpoints_per_account", 0...1_000_000)
            )
        )
        stripeAPIKey = read.text("stripe_api_key")
        stripeAPIBase = try read.httpURL("stripe_api_base")
        stripeWebhookSecrets = (read.text("stripe_webhook_secret") ?? "")
            .split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        // With less than a second every webhook would be rejected. Stripe's own SDKs allow five minutes.
        stripeWebhookTolerance = try read.span(
            "stripe_webhook_tolerance",
            from: .seconds(1),
            to: .seconds(86_400)
        )
        stripeEnqueuesUnknown = try read.choice("stripe_enqueue_unknown", Bool.init)
        stripeSweep = try read.choice("stripe_sweep", SweepChoice.init)
        stripeSweepPaid = try read.span(
            "stripe_sweep_paid",
            from: .seconds(2),
            to: .seconds(86_400)
        )
        sourceExpiry =
            try read.parsed("source_expiry") { text throws(InvalidInput) in
                try SourceExpiry(changes: text)
            } ?? .documented
        sections = configuration.sections
        authorities = try read.parsed("ca_file", CertificateAuthorities.init(file:))
        var relay = try read.parsed("smtp_url", SMTPRelay.init)
        relay?.authorities = authorities?.file
        let sender = try read.parsed("mail_from", MailSender.init)
        guard (relay == nil) == (sender == nil) else {
            throw read.wrong("mail_from", "and smtp_url go together: set both or none")
        }
        mail = relay.flatMap { relay in sender.map { (relay, $0) } }
        templates = try read.parsed("templates", MailTemplates.init(folder:)) ?? .standard
        publicURL = try read.publicURL("public_url")
        appLinks = AppLinks(
            apple: try read.parsed("apple_app_site_association") { text throws(InvalidInput) in
                try AppLinks.apple(text)
            },
            android: try read.parsed("asset_links") { text throws(InvalidInput) in
                try AppLinks.android(text)
            }
        )
        basePath =
            try read.parsed("base_path") { text throws(InvalidInput) in try BasePath(text) }
            // A path that is not a valid base path is ignored.
            ?? publicURL.flatMap { try? BasePath(ofURL: $0) } ?? .root
        proxies = try read.list("trusted_proxies") { text throws(InvalidInput) in
            try AddressRange(text)
        }
        webhookSecret = try read.parsed("webhook_secret", WebhookSecret.init)
        operators = try read.list("operator_notify") { text throws(InvalidInput) in
            let url = try NotifyURL(text, field: "operator_notify")
            if url.scheme == "mailto" { _ = try MailAddress(url) }
            return url
        }
        // A hold of more than an hour is useless, and more than ten URLs are a mailing list.
        incidentHold = try read.span("incident_hold", from: .zero, to: .seconds(3600))
        endpointFailingAfter = try read.span(
            "endpoint_failing_after",
            from: .seconds(1),
            to: .seconds(86_400)
        )
        guard operators.count <= 10 else {
            throw read.wrong("operator_notify", "names more than 10: use a mailing list")
        }
        masterKeys =
            try read.parsed("master_key") { text throws(InvalidInput) in
                try MasterKeys(text)
            } ?? .none
        allowedRanges = try read.list("allow_cidrs") { text throws(InvalidInput) in
            try AddressRange(text)
        }
        translators = try read.list("nat64_prefixes") { text throws(InvalidInput) in
            try NAT64Prefix(text)
        }
        workerConcurrency = try read.count("worker_concurrency", 1...10_000)
        lease = try read.span("lease", from: .seconds(1), to: .seconds(600))
        pollTimeout = try read.span("poll_timeout", from: .milliseconds(100), to: .seconds(300))
        quarantineAfter = try read.span("quarantine_after", from: .zero, to: .seconds(2_592_000))
        let replicas = try read.count("wait_replicas", 0...10)
        let patience = try read.span("wait_timeout", from: .milliseconds(1), to: .seconds(1))
        durability = replicas > 0 ? RedisDurability(replicas: replicas, timeout: patience) : nil
        lane = LaneLimit(
            ratePerSecond: Double(try read.count("lane_rate", 0...1_000_000)),
            burst: try read.count("lane_burst", 1...1_000_000),
            inFlightMax: try read.count("lane_concurrency", 1...1_000_000)
        )
        deliveryConcurrency = try read.count("delivery_concurrency", 1...10_000)
        endpointConcurrency = try read.count("endpoint_concurrency", 1...10_000)
        deliveryLease = try read.span("delivery_lease", from: .seconds(1), to: .seconds(600))
        drainTimeout = try read.span("drain_timeout", from: .zero, to: .seconds(600))
        searchKeys = try read.searchKeys("search")
        retention = RetentionSpans(
            outbox: try read.span("outbox_retention", from: .seconds(60), to: .seconds(2_592_000)),
            bodies: try read.span(
                "body_retention",
                from: RetentionSpans.deliveryMax,
                to: .seconds(31_536_000)
            ),
            closed: try read.span(
                "closed_retention",
                from: RetentionSpans.deliveryMax,
                to: .seconds(31_536_000)
            ),
            // The table of methods allows returns for at most 400 days.
            refundableRetention: try read.span("afterlife", from: .zero, to: .seconds(400 * 86_400))
        )
        logLevel = try read.choice("log_level", Logger.Level.init(rawValue:))
        // Scripts wait for lines of text, so the default format applies to the log only.
        let isChosen = configuration.values["log_format"] != nil
        logFormat =
            isChosen ? try read.choice("log_format", LogFormat.init(rawValue:)) : .standard
        traces = try read.collector().map { ($0, read.text("otlp_service")) }
        announcer = Announcer(
            isJSON: isChosen && logFormat == .json,
            supervisor: Supervisor(environment: ProcessInfo.processInfo.environment)
        )

        // If a poll outlived its lease, another worker would repeat it and the first result would be rejected.
        guard lease >= pollTimeout + .seconds(1) else {
            throw read.wrong("lease", "must be at least poll_timeout + 1s")
        }
        // A webhook has 15 s. An email has the lease minus the margin, at least 30 s. With a shorter lease another
        // notifier would send the same event again.
        guard deliveryLease >= .seconds(30) + Self.deliveryMargin else {
            throw read.wrong("delivery_lease", "must be at least 45s, 15 s more than any attempt")
        }
        try checkKeys()
    }

    /// The time by which a delivery's lease is longer than its attempt.
    static let deliveryMargin = Duration.seconds(15)

    /// Returns a hash of the upstreams and accounts of these settings, and of `sendsMail` (``Member/capabilities``).
    ///
    /// Processes with equal hashes can do the same work. A process keeps the mail relay of its start, whatever these
    /// settings have.
    func served(sendsMail: Bool) -> String {
        let words =
            sections.upstreams.map { "upstream \($0.name)" }
            + stripeKeys.keys.map { "account \($0)" }
            + (sendsMail ? ["mail"] : [])
        let hash = words.sorted().joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325) {
            ($0 ^ UInt64(truncatingIfNeeded: $1)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 36)
    }

    var stripeKeys: [AccountID: StripeKey] {
        var keys = sections.accounts.compactMapValues(\.apiKey)
        if let key = stripeAPIKey { keys[.main] = key }
        return keys.mapValues(StripeKey.init)
    }

    /// The connection settings for Redis.
    var redis: RedisConfiguration {
        var redis = RedisConfiguration()
        redis.tls.additionalRootsFile = authorities?.file
        return redis
    }

    /// The accounts that refund a second payment of an order.
    var refundingAccounts: Set<AccountID> {
        Set(sections.accounts.filter(\.value.refundsDuplicates).keys)
    }

    /// The options that select the real Stripe or another address.
    ///
    /// If one is set, no sandbox is started.
    var namesOfOtherStripe: [String] {
        var names: [String] = []
        if stripeAPIKey != nil {
            names.append("STRIPE_API_KEY")
        } else if stripeKeys[.main] != nil {
            names.append("the key of account \(AccountID.main)")
        }
        let standard = Option.all.first { $0.key == "stripe_api_base" }?.standard
        if stripeAPIBase != standard { names.append("POLLER_STRIPE_API_BASE") }
        return names
    }

    /// Rejects keys that must not be sent to the configured Stripe address.
    func checkKeys() throws(ConfigurationError) {
        let wrong = stripeKeys.filter { !$0.value.maySend(to: stripeAPIBase) }
        guard let account = wrong.keys.map(\.description).min() else { return }
        throw ConfigurationError(
            "the live key of account \(account) would go to \(stripeAPIBase), where others "
                + "could read "
                + "it: set POLLER_STRIPE_API_BASE to an https:// address, or give the account a "
                + "test key"
        )
    }
}

/// The interval at which the events of an account are read.
enum SweepChoice: Hashable, Sendable {
    /// As often as the account's read budget allows.
    case auto
    /// Never.
    case off
    /// At a fixed interval.
    case every(Duration)

    /// Reads `auto`, `off`, or a span of 1 s to 1 d.
    init?(_ text: String) {
        switch text {
        case "auto": self = .auto
        case "off": self = .off
        default:
            guard let span = Duration(text: text), span >= .seconds(1), span <= .seconds(86_400)
            else { return nil }
            self = .every(span)
        }
    }
}
