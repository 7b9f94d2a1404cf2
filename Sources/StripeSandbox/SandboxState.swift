import NIOCore

/// Everything the sandbox knows: plain values, changed by functions that leave actions behind.
///
/// One lock guards it (``SandboxStore``), so every request is atomic. Nothing here reads a clock or does I/O.
struct SandboxState {
    /// The version events are rendered with; see `StripeVersion`.
    static let apiVersion = "2026-10-28.endive"

    /// Events kept for `GET /v1/events`, the oldest going first: more than one test run makes.
    static let eventsMax = 100_000

    /// Requests kept for `GET /_sandbox/requests`.
    static let requestsMax = 100_000

    /// Status changes kept for `GET /_sandbox/history`: a run over 250,000 sources, about 100 bytes each.
    static let historyMax = 1_000_000

    /// Stored answers of idempotency keys; Stripe keeps them for a day.
    static let idempotencyMax = 100_000

    /// Stripe's limit per account.
    static let webhooksMax = 16

    var ids: IDGenerator
    /// Milliseconds since 1970, set on entry of every call.
    var nowMs: Int64 = 0

    var sources: [String: SandboxSource] = [:]
    var intents: [String: SandboxIntent] = [:]
    var intentOrder: [String] = []
    var charges: [String: SandboxCharge] = [:]
    var chargeOrder: [String] = []
    /// Methods made by `payment_method_data`, by id.
    var methods: [String: SandboxMethod] = [:]
    var events = RingBuffer<SandboxEvent>(capacity: SandboxState.eventsMax)
    /// Number in `events` by id.
    var eventNumbers: [String: Int] = [:]
    var webhooks: [SandboxWebhook] = []

    var history = RingBuffer<StatusChange>(capacity: SandboxState.historyMax)
    var requests = RingBuffer<RecordedRequest>(capacity: SandboxState.requestsMax)
    var faults: [Fault] = []
    var idempotency: [String: IdempotencyRecord] = [:]
    var idempotencyOrder = RingBuffer<String>(capacity: SandboxState.idempotencyMax)

    /// What the outside has to do; the store drains it after every call.
    var actions: [SandboxAction] = []

    /// The request that causes the changes at hand, for the `request` of its events.
    var cause: (requestID: String?, idempotencyKey: String?, account: String?) = (nil, nil, nil)

    /// Seconds since 1970.
    var nowSeconds: Int { Int(nowMs / 1000) }

    init(seed: UInt64) {
        ids = IDGenerator(seed: seed)
    }

    /// Notes a status for the independent checker.
    mutating func note(_ object: String, from previous: String?, to status: String) {
        history.append(
            StatusChange(source: object, previous: previous, status: status, atMs: nowMs)
        )
    }

    /// Records an event and asks for its deliveries.
    mutating func emit(_ type: String, _ object: ByteBuffer) {
        let endpoints = webhooks.filter { $0.accepts(type) }
        let event = SandboxEvent(
            id: ids.make("evt_"),
            type: type,
            created: nowSeconds,
            object: object,
            requestID: cause.requestID,
            idempotencyKey: cause.idempotencyKey,
            account: cause.account,
            pendingWebhooks: endpoints.count
        )
        if let oldest = events[events.next - Self.eventsMax] {
            eventNumbers.removeValue(forKey: oldest.id)
        }
        eventNumbers[event.id] = events.append(event)
        guard !endpoints.isEmpty else { return }
        let body = event.json()
        for endpoint in endpoints {
            actions.append(
                .deliver(event: event.id, url: endpoint.url, secret: endpoint.secret, body: body)
            )
        }
    }

    /// Notes that an endpoint took an event.
    mutating func delivered(_ event: String) {
        guard let number = eventNumbers[event] else { return }
        events[number]?.pendingWebhooks -= 1
    }
}
