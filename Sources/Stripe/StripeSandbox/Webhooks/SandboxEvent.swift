import HTTPTypes
import JSONText
import NIOCore

/// An event; its object is the JSON at the time of the change and is never rendered again.
///
/// `emit` records the event and creates a ``WebhookDelivery`` for each endpoint that accepts it. `attempt` adds a
/// ``WebhookPost``. ``WebhookSender`` signs and sends it after the lock is released. `recordAttempt` ends the
/// delivery or schedules the next attempt. The event is listed regardless of its deliveries, so that clients can
/// recover lost webhooks.
struct SandboxEvent: Codable {
    let id: String
    let type: String
    let created: Int
    /// The machine time, for a checker, because `created` has whole seconds.
    let atMs: Int64
    /// The connected account of the event; `nil` for the platform.
    let account: String?
    let object: ByteBuffer
    /// The previous values of the changed fields, for updates.
    let previous: [UInt8]?
    let requestID: String?
    let idempotencyKey: String?
    /// The endpoints that have not acknowledged it yet.
    var pending: [String]
    /// The machine time from which lists include the event; `nil` for immediately.
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

/// The events of the last thirty days, numbered in order.
struct EventLog: Codable {
    /// The maximum number of events; the oldest are removed first.
    ///
    /// It exceeds the events of a test run.
    static let eventsMax = 100_000

    /// The time that Stripe lists an event, in seconds.
    static let lifeSeconds = 30 * 24 * 3600

    private(set) var ring = RingBuffer<SandboxEvent>(capacity: EventLog.eventsMax)
    private var numbers: [String: Int] = [:]

    /// The numbers of all events, oldest first.
    var all: Range<Int> { ring.first..<ring.next }

    subscript(number: Int) -> SandboxEvent? { ring[number] }

    func number(of id: String) -> Int? { numbers[id] }

    mutating func append(_ event: SandboxEvent) {
        if let oldest = ring[ring.next - Self.eventsMax] {
            numbers.removeValue(forKey: oldest.id)
        }
        numbers[event.id] = ring.append(event)
    }

    /// Records that an endpoint acknowledged an event.
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

    /// Returns the event with this ID if the call may read it.
    func event(_ id: String, _ call: APICall) throws(APIError) -> SandboxEvent {
        guard let number = events.number(of: id), let event = events[number], isKept(event, call)
        else { throw APIError.noSuch("event", id) }
        return event
    }

    /// Returns whether an event belongs to the caller's account and has not expired.
    private func isKept(_ event: SandboxEvent, _ call: APICall) -> Bool {
        event.account == call.account && event.created > nowSeconds - EventLog.lifeSeconds
    }

    private func listEvents(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        let types = Set(form.list("types"))
        // Stripe's limit is twenty types.
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

    /// Returns whether a type matches a type or a pattern such as `source.*`.
    static func matches(_ type: String, _ pattern: String) -> Bool {
        pattern.hasSuffix("*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
    }
}
