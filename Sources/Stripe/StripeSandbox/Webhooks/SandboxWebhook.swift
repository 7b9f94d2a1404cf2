import HTTPTypes
import JSONText
import NIOCore

/// A webhook endpoint.
struct SandboxWebhook: Codable {
    /// The secret before the last rotation, valid until a machine time.
    struct OldSecret: Codable {
        let text: String
        let untilMs: Int64
    }

    /// The accounts whose events an endpoint receives.
    enum Reach: Codable {
        /// Only its own account.
        case own
        /// Connected accounts, as requested by `connect=true`.
        case connected
        /// All accounts; used for the endpoint of the command line.
        case everything
    }

    let id: String
    let account: String?
    let created: Int
    var url: String
    var secret: String
    /// The previous secret, which also signs until the given machine time.
    var oldSecret: OldSecret?
    var events: [String]
    var description: String?
    var apiVersion: String?
    var metadata: [String: String] = [:]
    var isEnabled = true
    let reach: Reach
    /// Whether this is an event destination with thin events (`v1.charge.succeeded` for `charge.succeeded`).
    private(set) var thin: Bool?
    var isThin: Bool { thin ?? false }

    init(
        id: String,
        account: String?,
        created: Int,
        url: String,
        secret: String,
        events: [String],
        description: String?,
        reach: Reach,
        isThin: Bool = false
    ) {
        self.id = id
        self.account = account
        self.created = created
        self.url = url
        self.secret = secret
        self.events = events
        self.description = description
        self.reach = reach
        thin = isThin ? true : nil
    }

    /// Returns whether it receives this type from this account; `*` is every type, patterns are not supported.
    func accepts(_ type: String, from source: String?) -> Bool {
        let isReached =
            switch reach {
            case .own: source == account
            case .connected: source != nil && source != account
            case .everything: true
            }
        return isEnabled && isReached && (events.contains("*") || events.contains(type))
    }

    /// Renders the endpoint; the secret is only included on creation.
    func json(withSecret: Bool) -> ByteBuffer {
        .object { writer in
            writer.field("id", id)
            writer.field("object", "webhook_endpoint")
            writer.field("api_version", apiVersion)
            writer.nulls("application")
            writer.field("created", created)
            writer.field("description", description)
            writer.field("enabled_events", events)
            writer.field("livemode", false)
            writer.field("metadata", metadata)
            if withSecret { writer.field("secret", secret) }
            writer.field("status", isEnabled ? "enabled" : "disabled")
            writer.field("url", url)
        }
    }
}

/// A fault of webhook deliveries: the body of `POST /_sandbox/webhooks/faults` and its state.
struct WebhookFault: Decodable {
    /// The effect on a delivery.
    enum Mode: String, Decodable {
        /// The delivery is lost: never attempted, never repeated.
        case drop
        /// The same event is delivered twice.
        case duplicate
        /// One change creates two events with different IDs.
        case twin
        /// Deliveries wait until the fault is deleted; then all are sent, the newest first.
        case hold
        /// The delivery is sent after `delay_ms`.
        case delay
        /// The delivery is sent normally; with `list_delay_ms` lists include the event later.
        case late
    }

    let mode: Mode
    /// A type or a pattern such as `source.*`; all types without it.
    let match: String?
    let delayMs: Int64?
    /// The delay before lists include the event, regardless of its delivery.
    let listDelayMs: Int64?
    /// The number of events it applies to; without it, until deleted.
    var times: Int?
    var id = ""
    /// The held deliveries.
    var held: [Int] = []

    private enum CodingKeys: String, CodingKey {
        case mode, match, times
        case delayMs = "delay_ms"
        case listDelayMs = "list_delay_ms"
    }

    /// Whether the values are in range.
    var isValid: Bool {
        times ?? 1 > 0 && (0...86_400_000).contains(delayMs ?? 0)
            && (0...86_400_000).contains(listDelayMs ?? 0)
    }

    func applies(to type: String) -> Bool {
        times != 0 && SandboxState.matches(type, match ?? "*")
    }
}

extension SandboxState {
    /// The maximum number of endpoints per account, as at Stripe.
    static let webhooksMax = 16

    /// `/v1/webhook_endpoints` and `/v1/webhook_endpoints/{id}`.
    mutating func routeWebhooks(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.post, 1): return try createWebhook(call)
        case (.get, 1):
            return try ListPage(call, kind: "webhook endpoint") { id in
                webhooks.firstIndex { $0.id == id }
            }
            .reply(webhooks.indices) {
                webhooks[$0].account == call.account && !webhooks[$0].isThin
            } json: {
                webhooks[$0].json(withSecret: false)
            }
        case (.get, 2):
            return APIReply(body: webhooks[try webhookIndex(call)].json(withSecret: false))
        case (.post, 2): return try updateWebhook(call, try webhookIndex(call))
        case (.delete, 2):
            let removed = webhooks.remove(at: try webhookIndex(call))
            return APIReply(
                body: JSONWriter.object { writer in
                    writer.field("id", removed.id)
                    writer.field("object", "webhook_endpoint")
                    writer.field("deleted", true)
                }
            )
        default: throw Self.unrecognized(call)
        }
    }

    private func webhookIndex(_ call: APICall) throws(APIError) -> Int {
        let id = call.segment(1)
        let index = webhooks.firstIndex { $0.id == id && $0.account == call.account }
        guard let index else { throw APIError.noSuch("webhook endpoint", id) }
        return index
    }

    private mutating func createWebhook(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        try form.allow([
            "api_version", "connect", "description", "enabled_events", "expand", "metadata", "url",
        ])
        let url = try form.required("url")
        try Self.requireWebURL(url)
        let events = form.list("enabled_events")
        guard !events.isEmpty else { throw APIError.missing("enabled_events") }
        guard webhooks.count(where: { $0.account == call.account }) < Self.webhooksMax else {
            throw APIError.invalid(
                "You have reached the maximum of \(Self.webhooksMax) test webhook endpoints."
            )
        }
        var webhook = SandboxWebhook(
            id: ids.make("we_"),
            account: call.account,
            created: nowSeconds,
            url: url,
            secret: ids.make("whsec_", length: 32),
            events: events,
            description: form["description"],
            reach: try form.flag("connect") == true ? .connected : .own
        )
        webhook.apiVersion = form["api_version"]
        webhook.metadata = try form.updated(metadata: [:])
        webhooks.append(webhook)
        return APIReply(body: webhook.json(withSecret: true))
    }

    private mutating func updateWebhook(
        _ call: APICall,
        _ index: Int
    ) throws(APIError) -> APIReply {
        let form = call.form
        try form.allow(["description", "disabled", "enabled_events", "expand", "metadata", "url"])
        var webhook = webhooks[index]
        if let url = form["url"] {
            try Self.requireWebURL(url)
            webhook.url = url
        }
        let events = form.list("enabled_events")
        if !events.isEmpty { webhook.events = events }
        if let text = form["description"] { webhook.description = text.isEmpty ? nil : text }
        if let isDisabled = try form.flag("disabled") { webhook.isEnabled = !isDisabled }
        webhook.metadata = try form.updated(metadata: webhook.metadata)
        webhooks[index] = webhook
        return APIReply(body: webhook.json(withSecret: false))
    }

    /// Rotates the secret of an endpoint; the old secret also signs for some time, at most a day.
    ///
    /// - Returns: The new secret; `nil` for an unknown endpoint.
    mutating func rollSecret(of id: String, overlapMs: Int64) -> String? {
        guard let index = webhooks.firstIndex(where: { $0.id == id }) else { return nil }
        let secret = ids.make("whsec_", length: 32)
        webhooks[index].oldSecret = .init(
            text: webhooks[index].secret,
            untilMs: machineMs + overlapMs
        )
        webhooks[index].secret = secret
        return secret
    }

    private static func requireWebURL(_ url: String) throws(APIError) {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw APIError.invalid(
                "Invalid URL: An explicit scheme (such as https) must be provided.",
                code: "url_invalid",
                param: "url"
            )
        }
    }
}
