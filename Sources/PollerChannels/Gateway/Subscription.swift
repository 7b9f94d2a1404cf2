import Poller

/// What a client wants to hear, checked.
struct Subscription: Hashable, Sendable {
    /// Where to begin.
    enum From: Hashable, Sendable {
        /// With what is recorded from now on.
        case now
        /// With the state of each named source, and then what changes.
        case snapshot
        /// After what the client has already.
        case cursor(String)
    }

    /// Our name for it, such as `s1`.
    let id: String
    /// The client's own number for the request.
    let ref: Int?
    /// Nil for every source of the account.
    let sources: Set<SourceID>?
    /// Exact types, or prefixes ending in `.*`; nil for every type.
    let types: [String]?
    let from: From
    let principal: Principal

    /// Whether an event belongs to this subscription.
    func matches(_ event: Event) -> Bool {
        (principal.account == nil || principal.account == event.key.account)
            && (sources?.contains(event.key.source) ?? true)
            && (types?.contains { Self.matches(event.type, $0) } ?? true)
    }

    /// Checks a request.
    static func parse(
        _ message: ClientMessage,
        id: String,
        principal: Principal,
        limits: GatewayLimits
    ) throws(InvalidInput) -> Subscription {
        var sources: Set<SourceID>?
        if let names = message.sources {
            guard (1...limits.sourcesMax).contains(names.count) else {
                throw InvalidInput(
                    field: "sources",
                    message: "must name 1 to \(limits.sourcesMax) sources; leave it out for all"
                )
            }
            var set: Set<SourceID> = []
            for name in names { set.insert(try SourceID(name)) }
            sources = set
        }
        if let types = message.types {
            guard (1...limits.typesMax).contains(types.count),
                types.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 130 })
            else {
                throw InvalidInput(
                    field: "types",
                    message: "must name 1 to \(limits.typesMax) types such as source.chargeable "
                        + "or source.*; leave it out for all"
                )
            }
        }
        let from: From
        switch message.from {
        case nil, "now": from = .now
        case "snapshot":
            guard sources != nil else {
                throw InvalidInput(
                    field: "from",
                    message: "can be snapshot only for named sources; list the others over the API"
                )
            }
            from = .snapshot
        case let cursor?: from = .cursor(cursor)
        }
        return Subscription(
            id: id,
            ref: message.ref,
            sources: sources,
            types: message.types,
            from: from,
            principal: principal
        )
    }

    private static func matches(_ type: String, _ pattern: String) -> Bool {
        guard pattern.hasSuffix("*") else { return type == pattern }
        return type.hasPrefix(pattern.dropLast())
    }
}
