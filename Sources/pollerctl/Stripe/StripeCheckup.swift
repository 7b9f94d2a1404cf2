import PollerWire
import SafeNumbers
import StripeAPI

/// The findings of `pollerctl stripe doctor`, without I/O.
///
/// A finding has a check, a result and advice. A *failed* check prevents payments from being observed or charged. A
/// *warning* causes delays or will become a failure later.
struct StripeCheckup: Encodable {
    private(set) var checks: [Doctor.Finding] = []
    /// The number of Sources in the last 30 days, by type.
    private(set) var sources: [String: Int] = [:]

    private enum CodingKeys: String, CodingKey {
        case healthy, checks, sources
    }

    /// Whether no check failed.
    var isHealthy: Bool { !checks.contains { $0.status == "failed" } }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isHealthy, forKey: .healthy)
        try container.encode(checks, forKey: .checks)
        try container.encode(sources, forKey: .sources)
    }

    private mutating func add(
        _ name: String,
        _ status: HealthReport.Check.Status,
        _ message: String,
        _ action: String? = nil
    ) {
        let word = status.rawValue
        checks.append(Doctor.Finding(name: name, status: word, message: message, action: action))
    }
}

/// Checks of the key, the clock and rate limits.
extension StripeCheckup {
    /// The resources a key must be able to read, and the effect of a missing permission.
    static let needed: [(resource: String, path: String, isEssential: Bool, without: String)] = [
        ("sources", "/v1/sources/src_doctor", true, "no source can be polled"),
        ("payment_intents", "/v1/payment_intents", true, "no payment intent can be polled"),
        ("setup_intents", "/v1/setup_intents", false, "no setup intent can be polled"),
        ("charges", "/v1/charges", true, "successful charges cannot be detected"),
        ("events", "/v1/events", true, "lost webhooks cannot be recovered"),
        ("refunds", "/v1/refunds", false, "refunds are not listed"),
        ("disputes", "/v1/disputes", false, "dispute states are unknown"),
        (
            "balance_transactions", "/v1/balance_transactions", false,
            "payments cannot be reconciled with the balance"
        ),
        ("webhook_endpoints", "/v1/webhook_endpoints", false, "webhooks cannot be checked here"),
    ]

    /// Judges the key's permissions by the response status of each resource.
    mutating func judge(key: StripeKey, answers: [String: Int]) {
        guard key.kind != .publishable, key.kind != .unknown else {
            return add(
                "key",
                .failed,
                "\(key) cannot read an account",
                "Set STRIPE_API_KEY to a secret key, sk_…, or a restricted one, rk_…."
            )
        }
        let mode = key.isLive == true ? "live mode" : "test mode"
        add("key", .ok, "\(key), \(mode)")
        let refused = Self.needed.filter { answers[$0.resource] == 403 }
        for one in refused {
            add(
                "permissions",
                one.isEssential ? .failed : .warning,
                "the key cannot read \(one.resource): \(one.without)",
                "Give the key Read permission for \(one.resource) in the Dashboard."
            )
        }
        let odd = Self.needed.filter { (answers[$0.resource] ?? 0) >= 500 }.map(\.resource)
        if !odd.isEmpty {
            add(
                "permissions",
                .warning,
                "Stripe returned errors for \(odd.joined(separator: ", "))",
                "Check https://status.stripe.com and run this command again."
            )
        }
        if refused.isEmpty, odd.isEmpty {
            add("permissions", .ok, "the key can read all \(Self.needed.count) required resources")
        }
    }

    /// Compares the local clock with the date of Stripe's responses, which has a resolution of one second.
    ///
    /// - Parameters:
    ///   - aheadMs: How far the local clock is ahead; negative if behind; `nil` if the response had no date.
    ///   - tripMs: The duration of the request, which limits the accuracy.
    mutating func judge(clockAheadMs aheadMs: Int?, tripMs: Int) {
        guard let aheadMs else { return add("clock", .warning, "Stripe's response had no date") }
        let side = aheadMs < 0 ? "behind" : "ahead of"
        let shown = String(Double(aheadMs.magnitude / 100) / 10)
        // Signatures older than 300 s are rejected; the date is truncated to the second.
        let message =
            "the local clock is \(shown) s \(side) Stripe's (± \(Int(clampingSafe: tripMs).addingSaturating(1999) / 1000) s)"
        let advice = "Synchronise the clock with NTP: a webhook signature is valid for 300 s."
        switch Int(clampingSafe: aheadMs.magnitude) - Int(clampingSafe: tripMs) - 1000 {
        case 150_000...: add("clock", .failed, message, advice)
        case 10_000...: add("clock", .warning, message, advice)
        default: add("clock", .ok, message)
        }
    }

    /// Reports rate limiting during the checks; Stripe does not return the remaining quota.
    mutating func judge(requests: Int, limited reasons: [String], isLive: Bool) {
        let limits = "an account has \(isLive ? 100 : 25) requests/s, each operation 25"
        guard !reasons.isEmpty else {
            return add(
                "rate",
                .ok,
                "\(requests) requests, none rate-limited; \(limits); Stripe does not report the remaining quota"
            )
        }
        let word = Set(reasons).sorted().joined(separator: ", ")
        add(
            "rate",
            .warning,
            "\(reasons.count) of \(requests) requests were rate-limited (\(word)); \(limits)",
            "Other clients use the account's quota: lower the limit with pollerctl lane limit, or ask Stripe for more."
        )
    }
}

/// Checks of webhook endpoints and undelivered events.
extension StripeCheckup {
    /// The path at which the cluster receives Stripe's webhooks.
    static let ourPath = "/v1/stripe/webhook"

    /// Judges the account's endpoints; `url` is the cluster's, which is otherwise recognised by its path.
    mutating func judge(endpoints: [WebhookEndpoint], url: String?) {
        let ours = endpoints.filter { endpoint in
            url.map { Self.normalized(endpoint.url) == Self.normalized($0) }
                ?? Self.normalized(endpoint.url).contains(Self.ourPath)
        }
        if ours.isEmpty {
            let wanted = url.map { "\($0)" } ?? "an address that ends in \(Self.ourPath)"
            add(
                "webhooks",
                .warning,
                "none of \(endpoints.count) endpoints is \(wanted): changes are found only by polls and sweeps",
                "Add the cluster's endpoint in the Dashboard, or give its URL with --url."
            )
        }
        for endpoint in ours { judge(endpoint) }
        let places = Dictionary(grouping: endpoints, by: { Self.normalized($0.url) })
        for (_, same) in places.sorted(by: { $0.key < $1.key }) where same.count > 1 {
            let names = same.map(\.id).joined(separator: ", ")
            add(
                "webhooks",
                .warning,
                "\(names) have the same URL: every event arrives \(same.count) times",
                "Delete all but one."
            )
        }
        for other in endpoints where other.status == .disabled && !ours.map(\.id).contains(other.id)
        {
            add("webhooks", .warning, "\(other.id) (\(other.url)) is disabled")
        }
    }

    private mutating func judge(_ endpoint: WebhookEndpoint) {
        let name = "\(endpoint.id) (\(endpoint.url))"
        if endpoint.status == .disabled {
            return add(
                "webhooks",
                .failed,
                "\(name) is disabled and receives no events",
                "Enable it in the Dashboard; sweeps have fetched the missed events."
            )
        }
        let has = Set(endpoint.enabledEvents)
        let missing = has.contains("*") ? [] : EventTypes.payments.filter { !has.contains($0) }
        let ofMoney = Set(EventTypes.charges + EventTypes.refunds + EventTypes.disputes)
        let hasSourceEvents = has.contains { $0.hasPrefix("source.") }
        let late = hasSourceEvents ? missing.filter(ofMoney.contains) : []
        let others = missing.filter { !late.contains($0) }
        if missing.isEmpty {
            add("webhooks", .ok, "\(name) receives all \(EventTypes.payments.count) required types")
        }
        if !late.isEmpty {
            // Subscriptions from before payment events existed have only `source.*`.
            add(
                "webhooks",
                .warning,
                "\(name) receives Source events but no payment events; missing: "
                    + late.joined(separator: ", "),
                "Add them: until then refunds, disputes and returns are reported only after a sweep."
            )
        }
        if !others.isEmpty {
            add(
                "webhooks",
                .warning,
                "\(name) is missing \(others.count) types: \(others.joined(separator: ", "))",
                "Add them to the endpoint: without them changes are detected late or not at all."
            )
        }
        switch endpoint.apiVersion {
        case StripeVersion.pinned: break
        case let version?:
            add(
                "webhooks",
                .warning,
                "\(endpoint.id) sends events of version \(version); pollerd reads \(StripeVersion.pinned)",
                "This is harmless, because the object is read again. A new endpoint uses the new version."
            )
        case nil:
            add(
                "webhooks",
                .warning,
                "\(endpoint.id) sends events of the account's default version, which may change",
                "Create the endpoint with api_version \(StripeVersion.pinned)."
            )
        }
    }

    /// Reports undelivered events of the last 24 hours.
    mutating func judge(undelivered events: [StripeEvent], hasMore: Bool) {
        guard !events.isEmpty else {
            return add("deliveries", .ok, "all events of the last 24 hours were delivered")
        }
        let types = Set(events.map(\.type)).sorted().prefix(5).joined(separator: ", ")
        add(
            "deliveries",
            .warning,
            "\(events.count)\(hasMore ? " or more" : "") events of the last 24 hours are undelivered: \(types)",
            "Check the endpoint's log in the Dashboard; Stripe retries for three days."
        )
    }

    /// The URL without query, fragment and trailing slashes, and with a lower-case host, for comparison.
    private static func normalized(_ url: String) -> String {
        var text = url.prefix { $0 != "?" && $0 != "#" }
        while text.last == "/" { text.removeLast() }
        guard let slash = text.firstRange(of: "://")?.upperBound else { return String(text) }
        let host = text[slash...].prefix { $0 != "/" }
        return text[..<slash].lowercased() + host.lowercased()
            + text[slash...].dropFirst(host.count)
    }
}

/// Checks of the Sources in use and their replacements.
extension StripeCheckup {
    /// Judges the Sources of recent `source.*` events and charges; each counts once.
    mutating func judge(sources seen: [String: String], isAll: Bool) {
        sources = seen.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        guard !sources.isEmpty else {
            return add("sources", .ok, "no Sources in the last 30 days")
        }
        for (word, count) in sources.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            let number = "\(count)\(isAll ? "" : " or more") of type \(word) in the last 30 days"
            guard let migration = SourceType(rawValue: word).migration else {
                add("sources", .warning, "\(number), which this release does not know")
                continue
            }
            let place = "PaymentMethod \(migration.paymentMethod): \(migration.advice)"
            switch migration.urgency {
            case .supported: add("sources", .ok, "\(number): deprecated, still works", place)
            case .removalPlanned:
                add("sources", .warning, "\(number): deprecated, will be turned off", place)
            case .discontinued: add("sources", .warning, "\(number): discontinued", place)
            }
        }
    }
}
