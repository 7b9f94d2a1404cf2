import HTTPTypes

extension SandboxState {
    /// `GET /v1/events` and `GET /v1/events/{id}`.
    func routeEvents(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.get, 1): return try listEvents(call)
        case (.get, 2):
            let id = String(call.segments[1])
            guard let number = eventNumbers[id], let event = events[number] else {
                throw APIError.noSuch("event", id)
            }
            return APIReply(body: event.json())
        default: throw Self.unrecognized(call)
        }
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
            throw APIError.invalid("You may only specify one of these: type, types.")
        }
        let created = try Self.createdRange(form)
        return try Self.page(
            call,
            kind: "event",
            numbers: events.first..<events.next,
            number: { eventNumbers[$0] },
            matches: { number in
                guard let event = events[number], created.contains(event.created) else {
                    return false
                }
                if let pattern { return Self.matches(event.type, pattern) }
                return types.isEmpty || types.contains(event.type)
            },
            json: { events[$0]?.json() ?? [] }
        )
    }

    /// A type or a family such as `source.*`.
    private static func matches(_ type: String, _ pattern: String) -> Bool {
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
        return lowest...max(lowest, highest)
    }
}
