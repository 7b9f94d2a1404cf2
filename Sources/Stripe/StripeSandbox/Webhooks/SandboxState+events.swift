import HTTPTypes
import NIOCore

extension SandboxState {
    /// `GET /v1/events` and `GET /v1/events/{id}`.
    func routeEvents(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.get, 1): return try listEvents(call)
        case (.get, 2):
            let id = call.segment(1)
            guard let number = events.number(of: id), let event = events[number],
                isListed(event, call)
            else { throw APIError.noSuch("event", id) }
            return APIReply(body: event.json())
        default: throw Self.unrecognized(call)
        }
    }

    private func isListed(_ event: SandboxEvent, _ call: APICall) -> Bool {
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
        let created = try Self.createdRange(form)
        let isDelivered = try form.flag("delivery_success")
        return try ListPage(call, kind: "event") { events.number(of: $0) }
            .reply(events.all) { number in
                guard let event = events[number], created.contains(event.created),
                    isListed(event, call),
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

    /// `created=…` or `created[gt|gte|lt|lte]=…`, in seconds.
    private static func createdRange(_ form: Form) throws(APIError) -> ClosedRange<Int> {
        func bound(_ name: String) throws(APIError) -> Int? {
            guard let text = form["created", name] else { return nil }
            guard let seconds = Int(text), (0...Int(Int32.max) * 2).contains(seconds) else {
                throw APIError.invalid("Invalid timestamp: \(text)", param: "created[\(name)]")
            }
            return seconds
        }
        if let text = form["created"] {
            guard let seconds = Int(text) else {
                throw APIError.invalid("Invalid timestamp: \(text)", param: "created")
            }
            return seconds...seconds
        }
        let lowest = max(try bound("gte") ?? 0, (try bound("gt") ?? -1) + 1)
        let highest = min(try bound("lte") ?? .max, (try bound("lt") ?? .max) - 1)
        guard lowest <= highest else { return -1...(-1) }
        return lowest...highest
    }
}
