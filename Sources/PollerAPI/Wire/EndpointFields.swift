import Poller

/// What `POST` and `PATCH /v1/endpoints` say of an endpoint.
///
/// *Shape*: see `NewEndpoint` in `openapi.json`. What is absent stays as it is; null is the
/// standard again.
struct EndpointFields {
    /// In the order documents list them; the first only when an endpoint is created.
    private static let fields = [
        "account", "url", "types", "sources", "metadata", "final_only", "ordering", "coalesce",
        "retry", "timeout", "limit", "headers", "payload", "notify_by",
    ]
    private static let changeable = fields.filter { $0 != "account" }

    private let members: [JSONValue.Member]
    private let body: RequestFields
    private let standardLimit: LaneLimit

    /// Reads a request.
    ///
    /// Errors: a ``Problem`` that names a field nobody knows.
    init(json: JSONValue, isNew: Bool, standardLimit: LaneLimit) throws(Problem) {
        guard case .object(let members) = json else {
            throw Problem(
                .wrongType,
                "An endpoint must be an object such as {\"url\":\"https://…\"}, "
                    + "not \(json.typeName)."
            )
        }
        let known = isNew ? Self.fields : Self.changeable
        for member in members where !known.contains(member.name) {
            let shown = String(member.name.prefix(64))
            throw Problem(
                .unknownField,
                isNew || shown != "account"
                    ? "\(shown) is not known; an endpoint has \(known.joined(separator: ", "))."
                    : "account cannot be changed; create another endpoint.",
                field: shown
            )
        }
        self.members = members
        self.standardLimit = standardLimit
        body = RequestFields(members)
    }

    /// The account it belongs to.
    func account() throws(Problem) -> AccountID {
        let text = try body.string("account")
        return try Problem.checked { () throws(InvalidInput) in
            try text.map { text throws(InvalidInput) in try AccountID(text) } ?? .main
        }
    }

    /// The URL; nil when it is absent.
    func url() throws(Problem) -> NotifyURL? {
        guard let text = try body.string("url") else { return nil }
        return try Problem.checked { () throws(InvalidInput) in try NotifyURL(text, field: "url") }
    }

    /// Changes an endpoint as asked, and checks it as a whole.
    func apply(to endpoint: inout Endpoint) throws(Problem) {
        if let url = try url() { endpoint.url = url }
        try applyScope(to: &endpoint)
        for member in members {
            switch member.name {
            case "ordering": try checkOrdering()
            case "coalesce": endpoint.coalesces = try body.flag("coalesce") ?? false
            case "retry": endpoint.retry = try retry(member.value)
            case "timeout": endpoint.timeout = try body.duration("timeout")
            case "limit": endpoint.limit = try limit(member.value, from: endpoint.limit)
            case "headers": endpoint.headers = try headers(member.value)
            case "payload": endpoint.payload = try payload()
            case "notify_by": endpoint.notifyBy = try notifyBy(member.value)
            default: break
            }
        }
        let changed = endpoint
        try Problem.checked { () throws(InvalidInput) in try changed.check() }
    }

    private func applyScope(to endpoint: inout Endpoint) throws(Problem) {
        let old = endpoint.scope
        let types = has("types") ? try body.strings("types") : old.types
        let sources =
            has("sources")
            ? try body.strings("sources") : old.sources.map(\.description)
        let metadata = has("metadata") ? try body.texts("metadata") : old.metadata
        let finalOnly =
            has("final_only") ? try body.flag("final_only") ?? false : old.finalOnly
        endpoint.scope = try Problem.checked { () throws(InvalidInput) in
            try EndpointScope(
                types: types,
                sources: sources,
                metadata: metadata,
                finalOnly: finalOnly
            )
        }
    }

    private func has(_ name: String) -> Bool { members.contains { $0.name == name } }

    private func checkOrdering() throws(Problem) {
        guard try body.string("ordering") ?? "source" == "source" else {
            throw Problem(
                .invalidValue,
                "ordering must be source: the events of one source arrive in order, those of "
                    + "different sources wait for nobody.",
                field: "ordering"
            )
        }
    }

    private func retry(_ value: JSONValue) throws(Problem) -> RetryChoice {
        guard case .array = value else {
            let name = try body.string("retry") ?? "default"
            return try Problem.checked { () throws(InvalidInput) in try RetryChoice(named: name) }
        }
        var waits: [Duration] = []
        for text in try body.strings("retry") {
            // A wait of zero is refused by the check.
            waits.append(Duration(text: text) ?? .zero)
        }
        let all = waits
        return try Problem.checked { () throws(InvalidInput) in try RetryChoice(waits: all) }
    }

    private func limit(
        _ value: JSONValue,
        from current: LaneLimit?
    ) throws(Problem) -> LaneLimit? {
        if case .null = value { return nil }
        return try LaneLimitChange(json: value).limit(from: current ?? standardLimit)
    }

    private func headers(_ value: JSONValue) throws(Problem) -> [EndpointHeader] {
        if case .null = value { return [] }
        guard case .object(let entries) = value else {
            throw Problem(
                .wrongType,
                "headers must be an object of strings, not \(value.typeName).",
                field: "headers"
            )
        }
        var headers: [EndpointHeader] = []
        for entry in entries {
            guard case .string(let text) = entry.value else {
                throw Problem(
                    .wrongType,
                    "headers must be an object of strings; one is \(entry.value.typeName).",
                    field: "headers"
                )
            }
            headers.append(
                try Problem.checked { () throws(InvalidInput) in
                    try EndpointHeader(entry.name, text)
                }
            )
        }
        return headers
    }

    private func payload() throws(Problem) -> Endpoint.Payload {
        let name = try body.string("payload") ?? Endpoint.Payload.full.rawValue
        guard let payload = Endpoint.Payload(rawValue: name) else {
            throw Problem(.invalidValue, "payload must be full or thin.", field: "payload")
        }
        return payload
    }

    private func notifyBy(_ value: JSONValue) throws(Problem) -> Endpoint.NotifyBy? {
        if case .null = value { return nil }
        guard case .object(let members) = value,
            members.allSatisfy({ ["within", "endpoint"].contains($0.name) })
        else {
            throw Problem(
                .wrongType,
                "notify_by must be an object such as {\"within\":\"5m\",\"endpoint\":\"ep_…\"}.",
                field: "notify_by"
            )
        }
        let body = RequestFields(members)
        guard let within = try body.duration("within"), let text = try body.string("endpoint")
        else {
            throw Problem(
                .missingField,
                "notify_by needs within and endpoint.",
                field: "notify_by"
            )
        }
        return try Problem.checked { () throws(InvalidInput) in
            try Endpoint.NotifyBy(within: within, fallback: EndpointID(text))
        }
    }
}
