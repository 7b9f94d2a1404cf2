import Poller

extension ListQuery {
    /// Reads the filters and the place of a list of watches from a query.
    ///
    /// `state`: which state is listed when the query does not say.
    init(_ query: QueryParameters, state: State? = nil) throws(Problem) {
        self.init(
            state: try query.choice("state", State.self) ?? state,
            status: try query.checked("status") { text throws(InvalidInput) in
                try SourceStatus(text)
            },
            account: try query.checked("account") { text throws(InvalidInput) in
                try AccountID(text)
            },
            kind: try query.choice("kind", SourceKind.self),
            limit: try query.integer("limit", in: 1...500) ?? 50,
            cursor: try query.checked("cursor", Self.cursor)
        )
    }

    /// Cursors are the store's; here only their form is checked.
    private static func cursor(_ text: String) throws(InvalidInput) -> String {
        guard text.utf8.count <= 1024, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw InvalidInput(
                field: "cursor",
                message: "is not one of ours: use next of the page before, unchanged"
            )
        }
        return text
    }
}
