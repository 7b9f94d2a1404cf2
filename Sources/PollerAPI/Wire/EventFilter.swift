import Poller

/// Which events a reader of all events wants.
struct EventFilter: Sendable {
    /// Sources one request may name: what fits a URL.
    static let sourcesMax = 50
    static let typesMax = 20
    /// What an event's type begins with; `watch` when we stopped looking.
    private static let subjects = SourceKind.allCases.map(\.rawValue) + ["watch"]

    private let sources: Set<SourceID>
    private let account: AccountID?
    private let types: [String]

    /// Reads the parameters `source`, `account` and `types`.
    init(_ query: QueryParameters) throws(Problem) {
        var sources: Set<SourceID> = []
        for text in try query.list("source", countMax: Self.sourcesMax) {
            sources.insert(
                try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                    try SourceID(text)
                }
            )
        }
        self.sources = sources
        account = try query.checked("account") { text throws(InvalidInput) in
            try AccountID(text)
        }
        types = try query.list("types", countMax: Self.typesMax)
        for type in types {
            let name = type.hasSuffix(".*") ? type.dropLast(2) : type[...]
            let isName = name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
                    || byte == UInt8(ascii: "-")
            }
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard isName, Self.subjects.contains(String(parts[0])),
                type.hasSuffix(".*") || parts.count > 1
            else {
                let all = Self.subjects.map { "\($0).*" }.joined(separator: ", ")
                throw Problem(
                    .invalidParameter,
                    "types must be event types such as source.chargeable, or all of a sort: \(all).",
                    field: "types"
                )
            }
        }
    }

    /// Whether an event passes.
    func matches(_ event: Event) -> Bool {
        (sources.isEmpty || sources.contains(event.key.source))
            && (account == nil || account == event.key.account)
            && (types.isEmpty || types.contains { Self.matches($0, event.type) })
    }

    private static func matches(_ pattern: String, _ type: String) -> Bool {
        pattern.hasSuffix(".*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
    }
}
