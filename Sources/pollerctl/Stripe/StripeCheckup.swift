import PollerWire
import SafeNumbers
import StripeAPI

/// What `pollerctl stripe doctor` has seen of an account, and what follows from it: no I/O here.
///
/// Each finding is one line: what was looked at, what it came to, and what to do. A *failed* one keeps payments from
/// being heard of or charged; a *warning* costs time, or will be a failure one day.
struct StripeCheckup: Encodable {
    private(set) var checks: [Doctor.Finding] = []
    /// Sources seen in the last thirty days, by type.
    private(set) var sources: [String: Int] = [:]

    private enum CodingKeys: String, CodingKey {
        case healthy, checks, sources
    }

    /// Whether nothing has failed.
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

/// The account's side: key, clock and limits.
extension StripeCheckup {
    /// What a key must be able to read, and what goes missing without it.
    static let needed: [(resource: String, path: String, isEssential: Bool, without: String)] = [
        ("sources", "/v1/sources/src_doctor", true, "no source can be polled"),
        ("payment_intents", "/v1/payment_intents", true, "no payment intent can be polled"),
        ("setup_intents", "/v1/setup_intents", false, "no setup intent can be polled"),
        ("charges", "/v1/charges", true, "nobody can tell whether the money came"),
        ("events", "/v1/events", true, "a lost webhook is not made up for"),
        ("refunds", "/v1/refunds", false, "refunds are not listed"),
        ("disputes", "/v1/disputes", false, "how a dispute stands is not known"),
        (
            "balance_transactions", "/v1/balance_transactions", false,
            "payments cannot be reconciled with the balance"
        ),
        ("webhook_endpoints", "/v1/webhook_endpoints", false, "webhooks cannot be checked here"),
    ]

    /// What a restricted key may read: the status each resource was answered with.
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
                "the key may not read \(one.resource): \(one.without)",
                "Give the key the permission Read for \(one.resource), in the Dashboard."
            )
        }
        let odd = Self.needed.filter { (answers[$0.resource] ?? 0) >= 500 }.map(\.resource)
        if !odd.isEmpty {
            add(
                "permissions",
                .warning,
                "Stripe failed to answer for \(odd.joined(separator: ", "))",
                "Look at https://status.stripe.com and run this again."
            )
        }
        if refused.isEmpty, odd.isEmpty {
            add("permissions", .ok, "the key reads all \(Self.needed.count) resources needed")
        }
    }

    /// Our clock beside Stripe's, whose answers are dated to the second.
    ///
    /// - Parameters:
    ///   - aheadMs: How far ours is ahead; negative when it is behind; nil when the answer had no date.
    ///   - tripMs: How long the request took, which is how much of that nobody can tell.
    mutating func judge(clockAheadMs aheadMs: Int?, tripMs: Int) {
        guard let aheadMs else { return add("clock", .warning, "Stripe's answer had no date") }
        let side = aheadMs < 0 ? "behind" : "ahead of"
        let shown = String(Double(aheadMs.magnitude / 100) / 10)
        // Signatures older than 300 s are refused; a date is cut to the second.
        let message =
            "ours is \(shown) s \(side) Stripe's (± \(Int(clampingSafe: tripMs).addingSaturating(1999) / 1000) s)"
        let advice = "Set the clock by NTP: a webhook's signature is good for 300 s."
        switch Int(clampingSafe: aheadMs.magnitude) - Int(clampingSafe: tripMs) - 1000 {
        case 150_000...: add("clock", .failed, message, advice)
        case 10_000...: add("clock", .warning, message, advice)
        default: add("clock", .ok, message)
        }
    }

    /// Whether we were limited while we looked; Stripe tells no figure of what is left.
    mutating func judge(requests: Int, limited reasons: [String], isLive: Bool) {
        let limits = "an account has \(isLive ? 100 : 25) requests/s, each operation 25"
        guard !reasons.isEmpty else {
            return add(
                "rate",
                .ok,
                "\(requests) requests, none limited; \(limits); Stripe does not tell what is left"
            )
        }
        let word = Set(reasons).sorted().joined(separator: ", ")
        add(
            "rate",
            .warning,
            "\(reasons.count) of \(requests) requests were limited (\(word)); \(limits)",
            "Somebody spends the account's requests: set a lower limit with pollerctl lane limit, or ask Stripe."
        )
    }
}

/// What arrives: webhook endpoints and undelivered events.
extension StripeCheckup {
    /// The path that the cluster takes Stripe's webhooks at.
    static let ourPath = "/v1/stripe/webhook"

    /// The endpoints there are; `url` names ours, else it is told by its path.
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
                "none of \(endpoints.count) endpoints is \(wanted): news waits for a poll or the sweep",
                "Add an endpoint of the cluster's in the Dashboard, or name it with --url."
            )
        }
        for endpoint in ours { judge(endpoint) }
        let places = Dictionary(grouping: endpoints, by: { Self.normalized($0.url) })
        for (_, same) in places.sorted(by: { $0.key < $1.key }) where same.count > 1 {
            let names = same.map(\.id).joined(separator: ", ")
            add(
                "webhooks",
                .warning,
                "\(names) have the same address: every event arrives \(same.count) times",
                "Delete all but one of them."
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
                "\(name) is disabled: nothing is sent to it",
                "Enable it in the Dashboard; the sweep has fetched what was missed."
            )
        }
        let has = Set(endpoint.enabledEvents)
        let missing = has.contains("*") ? [] : EventTypes.payments.filter { !has.contains($0) }
        let ofMoney = Set(EventTypes.charges + EventTypes.refunds + EventTypes.disputes)
        let hasSourceEvents = has.contains { $0.hasPrefix("source.") }
        let late = hasSourceEvents ? missing.filter(ofMoney.contains) : []
        let others = missing.filter { !late.contains($0) }
        if missing.isEmpty {
            add("webhooks", .ok, "\(name) gets all \(EventTypes.payments.count) types needed")
        }
        if !late.isEmpty {
            // A subscription from before payments were told: it was all that was needed then.
            add(
                "webhooks",
                .warning,
                "\(name) hears of Sources, but not what becomes of their money: it lacks "
                    + late.joined(separator: ", "),
                "Add them: until then a refund, a dispute or a return is told when the sweep finds it."
            )
        }
        if !others.isEmpty {
            add(
                "webhooks",
                .warning,
                "\(name) lacks \(others.count) types: \(others.joined(separator: ", "))",
                "Add them to the endpoint: what they tell is heard late, or never."
            )
        }
        switch endpoint.apiVersion {
        case StripeVersion.pinned: break
        case let version?:
            add(
                "webhooks",
                .warning,
                "\(endpoint.id) sends events of version \(version), we read \(StripeVersion.pinned)",
                "Nothing breaks: events are hints and the object is read anew. A new endpoint takes the version over."
            )
        case nil:
            add(
                "webhooks",
                .warning,
                "\(endpoint.id) sends events of the account's default version, whatever that is",
                "Make the endpoint with api_version \(StripeVersion.pinned)."
            )
        }
    }

    /// Events nobody has taken yet, of the last day.
    mutating func judge(undelivered events: [StripeEvent], hasMore: Bool) {
        guard !events.isEmpty else {
            return add("deliveries", .ok, "every event of the last day was taken")
        }
        let types = Set(events.map(\.type)).sorted().prefix(5).joined(separator: ", ")
        add(
            "deliveries",
            .warning,
            "\(events.count)\(hasMore ? " or more" : "") events of the last day wait for an endpoint: \(types)",
            "Look at the endpoint's log in the Dashboard; Stripe tries for three days."
        )
    }

    /// Where an address points: without what may be written in two ways.
    private static func normalized(_ url: String) -> String {
        var text = url.prefix { $0 != "?" && $0 != "#" }
        while text.last == "/" { text.removeLast() }
        guard let slash = text.firstRange(of: "://")?.upperBound else { return String(text) }
        let host = text[slash...].prefix { $0 != "/" }
        return text[..<slash].lowercased() + host.lowercased()
            + text[slash...].dropFirst(host.count)
    }
}

/// What is used: Sources, and what takes their place.
extension StripeCheckup {
    /// The objects of recent events `source.*`, and the Sources of recent charges; each counts once.
    mutating func judge(sources seen: [String: String], isAll: Bool) {
        sources = seen.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        guard !sources.isEmpty else {
            return add("sources", .ok, "no Sources in the last 30 days")
        }
        for (word, count) in sources.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            let number = "\(count)\(isAll ? "" : " or more") of type \(word) in the last 30 days"
            guard let migration = SourceType(rawValue: word).migration else {
                add("sources", .warning, "\(number), which this program does not know")
                continue
            }
            let place = "PaymentMethod \(migration.paymentMethod): \(migration.advice)"
            switch migration.urgency {
            case .supported: add("sources", .ok, "\(number): deprecated, stays for now", place)
            case .removalPlanned:
                add("sources", .warning, "\(number): deprecated, to be turned off", place)
            case .discontinued: add("sources", .warning, "\(number): the method has ended", place)
            }
        }
    }
}
