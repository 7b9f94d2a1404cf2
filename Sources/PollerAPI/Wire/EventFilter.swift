import PollerDeliveries
import PollerIdentity
import PollerWatches

/// The filter of a reader of all events.
struct EventFilter: Sendable {
    /// The maximum number of sources in one request, which fit in a URL.
    static let sourcesMax = 50
    static let typesMax = 20
    /// The pattern of an event type, without anchors.
    static let typePattern =
        "(\(EventSubject.families.joined(separator: "|")))([.][a-z0-9_.-]*([.][*])?|[.][*])"

    private let sources: Set<SourceID>
    let accounts: AccountSet
    private let types: [String]

    /// Creates a filter.
    ///
    /// Empty lists match every event.
    ///
    /// Errors: a ``Problem`` for a type that no event can have.
    init(sources: [SourceID], accounts: AccountSet, types: [String]) throws(Problem) {
        self.sources = Set(sources)
        self.accounts = accounts
        self.types = types
        for type in types {
            let name = type.hasSuffix(".*") ? type.dropLast(2) : type[...]
            let isName = name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
                    || byte == UInt8(ascii: "-")
            }
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard isName, let family = parts.first,
                EventSubject.families.contains(String(family)),
                type.hasSuffix(".*") || parts.count > 1
            else {
                let all = EventSubject.families.map { "\($0).*" }.joined(separator: ", ")
                throw Problem.parameter(
                    "types",
                    "must be event types such as source.chargeable, or a whole family: \(all)."
                )
            }
        }
    }

    /// Returns whether an event matches.
    ///
    /// Cluster events match only if their types are requested.
    func matches(_ event: Event) -> Bool {
        event.isIncluded(for: types) && (sources.isEmpty || sources.contains(event.key.source))
            && accounts.contains(event.key.account)
            && (types.isEmpty || EventSubject.matches(event.type, types))
    }

    /// The subscription of a client that waits for matching events.
    var interest: Interest {
        Interest(
            in: sources.isEmpty ? .accounts(accounts) : .sources(sources, of: accounts),
            types: types.isEmpty ? nil : types
        )
    }

    /// Whether the filter requests cluster events.
    var isForOperators: Bool { types.contains(where: EventSubject.isOfOperators) }
}

extension RouteInput where Value == EventFilter {
    /// The parameters `source`, `account` and `types`.
    static var events: Self {
        let sources = EventFilter.sourcesMax
        let types = EventFilter.typesMax
        let id = "[A-Za-z0-9_.-]{1,255}"
        let type = EventFilter.typePattern
        let named = RouteInput.all(
            .list(
                "source",
                "Only events of these sources, up to \(sources), separated by commas.",
                .matching("^\(id)(,\(id)){0,\(sources - 1)}$"),
                countMax: sources
            ),
            .accounts("Events of this account only."),
            .list(
                "types",
                """
                Only events of these types, up to \(types), separated by commas: source.chargeable, source.*. The \
                cluster's own events, operator.*, are left out unless they are named.
                """,
                .matching("^\(type)(,\(type)){0,\(types - 1)}$"),
                countMax: types
            )
        ) { sources, accounts, types throws(Problem) in
            var ids: [SourceID] = []
            for text in sources {
                ids.append(
                    try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                        try SourceID(text)
                    }
                )
            }
            return try EventFilter(sources: ids, accounts: accounts, types: types)
        }
        return Self(named.parameters) { values throws(Problem) in
            let filter = try named.read(values)
            if filter.isForOperators { try values.caller.requireClusterAccess(in: "types") }
            return filter
        }
    }
}
