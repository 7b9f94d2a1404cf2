import HTTPTypes
import JSONText
import NIOCore

/// An event: its object is the JSON of the moment and never rendered again.
///
/// From a change to a receiver: `emit` records the event and makes a ``WebhookDelivery`` for each endpoint that accepts
/// it; `attempt` leaves a ``WebhookPost`` behind; ``WebhookSender`` signs and posts it after the lock was let go;
/// `answered` ends the delivery or sets a timer for the next try. The event is listed whether or not anybody takes it,
/// which is what those rely on who lost a webhook.
struct SandboxEvent: Codable {
    let id: String
    let type: String
    let created: Int
    /// The machine's time, for a checker: `created` has whole seconds.
    let atMs: Int64
    /// The connected account it happened in; nil is the platform's own.
    let account: String?
    let object: ByteBuffer
    /// What the object's changed fields were before, of updates.
    let previous: [UInt8]?
    let requestID: String?
    let idempotencyKey: String?
    /// The endpoints that have not taken it yet.
    var pending: [String]
    /// The machine's time from which lists have it; nil: at once.
    ///
    /// Stripe's lists are eventually consistent.
    var listedFromMs: Int64?

    func json() -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "event")
            if let account { writer.field("account", account) }
            writer.field("api_version", SandboxState.apiVersion)
            writer.field("created", created)
            writer.object("data") { writer in
                writer.field("object", raw: object.readableBytesView)
                if let previous { writer.field("previous_attributes", raw: previous) }
            }
            writer.field("livemode", false)
            writer.field("pending_webhooks", pending.count)
            writer.object("request") { writer in
                writer.field("id", requestID)
                writer.field("idempotency_key", idempotencyKey)
            }
            writer.field("type", type)
        }
    }
}

/// The events of the last thirty days, numbered in the order they happened.
struct EventLog: Codable {
    /// Events kept, the oldest going first: more than one test run makes.
    static let eventsMax = 100_000

    /// How long Stripe lists an event, in seconds.
    static let lifeSeconds = 30 * 24 * 3600

    private(set) var ring = RingBuffer<SandboxEvent>(capacity: EventLog.eventsMax)
    private var numbers: [String: Int] = [:]

    /// The numbers in use, oldest first.
    var all: Range<Int> { ring.first..<ring.next }

    subscript(number: Int) -> SandboxEvent? { ring[number] }

    func number(of id: String) -> Int? { numbers[id] }

    mutating func append(_ event: SandboxEvent) {
        if let oldest = ring[ring.next - Self.eventsMax] {
            numbers.removeValue(forKey: oldest.id)
        }
        numbers[event.id] = ring.append(event)
    }

    /// Notes that an endpoint took an event.
    mutating func delivered(_ id: String, to endpoint: String) {
        guard let number = numbers[id], var event = ring[number] else { return }
        event.pending.removeAll { $0 == endpoint }
        ring[number] = event
    }
}

extension SandboxState {
    /// `GET /v1/events` and `GET /v1/events/{id}`.
    func routeEvents(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.get, 1): return try listEvents(call)
        case (.get, 2):
            let id = call.segment(1)
            return APIReply(body: try event(id, call).json())
        default: throw Self.unrecognized(call)
        }
    }

    /// The event of that id that a call may read.
    func event(_ id: String, _ call: APICall) throws(APIError) -> SandboxEvent {
        guard let number = events.number(of: id), let event = events[number], isKept(event, call)
        else { throw APIError.noSuch("event", id) }
        return event
    }

    /// Of the caller's account, and not older than Stripe keeps them.
    private func isKept(_ event: SandboxEvent, _ call: APICall) -> Bool {
        event.account == call.account && event.created > nowSeconds - EventLog.lifeSeconds
    }

    private func listEvents(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        let types = Set(form.list("types"))
        // Twenty names is Stripe's limit.
        guard types.count <= 20 else {
            throw APIError.invalid("You may only specify up to 20 types.", param: "types")
        }
        let pattern = form["type"]
        if pattern != nil, !types.isEmpty {
            throw APIError.invalid(
                "You may only specify one of these: type, types.",
                code: "parameters_exclusive"
            )
        }
        let created = try form.range("created")
        let isDelivered = try form.flag("delivery_success")
        return try ListPage(call, kind: "event") { events.number(of: $0) }
            .reply(events.all) { number in
                guard let event = events[number], created.contains(event.created),
                    isKept(event, call), event.listedFromMs ?? 0 <= machineMs,
                    isDelivered.map({ $0 == event.pending.isEmpty }) ?? true
                else { return false }
                if let pattern { return Self.matches(event.type, pattern) }
                return types.isEmpty || types.contains(event.type)
            } json: {
                ByteBuffer(bytes: events[$0]?.json() ?? [])
            }
    }

    /// A type or a family such as `source.*`.
    static func matches(_ type: String, _ pattern: String) -> Bool {
        pattern.hasSuffix("*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
    }
}
