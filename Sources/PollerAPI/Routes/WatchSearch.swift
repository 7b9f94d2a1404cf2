import PollerIdentity
import PollerPayments
import PollerWatches

/// A query for watches, before the searchable metadata names are known.
struct WatchSearch {
    let base: ListQuery
    /// The search terms of ``SearchQuery``.
    let text: String
    /// The required metadata values, by name.
    let metadata: [(name: String, value: String)]
    /// The range of creation times.
    var created = CreatedRange()

    /// The description of the parameter `state`.
    static let stateDescription =
        "Open watches, closed watches, or closed watches in quarantine."

    /// Returns the query.
    ///
    /// Ages are relative to an instant.
    func query(among keys: SearchKeys, at now: Timestamp) throws(Problem) -> ListQuery {
        let (from, before) = try created.instants(at: now)
        guard !text.isEmpty || !metadata.isEmpty || from != nil || before != nil else {
            return base
        }
        let search = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try SearchQuery(
                text,
                metadata: metadata,
                keys: keys,
                now: now,
                created: (from, before)
            )
        }
        return base.searching(for: search)
    }
}

extension RouteInput where Value == WatchSearch {
    /// The search terms, the filters and the cursor.
    static var search: Self {
        searching(.list(.choice("state", WatchSearch.stateDescription)))
    }

    /// Returns the search terms and the filters, for routes without pages.
    ///
    /// `state` selects the watches.
    static func selected(_ state: RouteInput<ListQuery.State?>) -> Self {
        searching(.filters(state))
    }

    private static func searching(_ list: RouteInput<ListQuery>) -> Self {
        .all(.words, .metadata, list, .created) { text, metadata, base, created in
            WatchSearch(base: base, text: text ?? "", metadata: metadata, created: created)
        }
    }
}

extension RouteInput where Value == Bool {
    /// Whether a list includes the data for an archive.
    static var memory: Self {
        flag(
            "memory",
            "Whether to include the data for a restore, which is not for people."
        )
    }
}

extension RouteInput where Value == String? {
    /// The text of a payment search.
    fileprivate static var words: Self {
        text(
            "q",
            """
            Terms that must all match: A77 (a source, a charge, or the beginning of an order or of searchable \
            metadata), 49.90 or €49.90, order=A77, status=failed,pending, payment=paid, account=shop, \
            customer="Jane Doe", customer=Mül*, metadata.colour=red, kind!=charge, amount>=1000, amount=49.90, \
            created>2d (longer ago), closed>=2026-11-01, error=any, endpoint=shop.example.
            """,
            ["type": "string", "minLength": 1, "maxLength": .number(SearchQuery.bytesMax)]
        )
    }
}

extension RouteInput where Value == [(name: String, value: String)] {
    /// The maximum characters of a value, as in the metadata of upstreams.
    private static var valueMax: Int { 500 }

    /// The required metadata values, one parameter per name.
    fileprivate static var metadata: Self {
        let parameter = RouteParameter(
            name: "metadata.NAME",
            location: .query,
            description: "The value of the metadata NAME, which is any name.",
            schema: ["type": "string", "minLength": 1, "maxLength": .number(valueMax)],
            prefix: "metadata."
        )
        return Self([parameter]) { values throws(Problem) in
            let wanted = values.queries("metadata.")
            if let (name, _) = wanted.first(where: { $0.value.count > valueMax }) {
                throw Problem.parameter(
                    "metadata.\(name)",
                    "is longer than \(valueMax) characters."
                )
            }
            return wanted
        }
    }
}

extension RouteInput where Value == ListQuery {
    /// Returns the filters and the cursor of a list of watches.
    ///
    /// `state` selects the watches.
    static func list(_ state: RouteInput<ListQuery.State?>) -> Self {
        .all(.filters(state), .limit("Watches per page."), .checkedCursor) { query, limit, cursor in
            query.page(limit: limit, after: cursor)
        }
    }

    static func filters(_ state: RouteInput<ListQuery.State?>) -> Self {
        .all(
            state,
            .query(
                SourceStatus.self,
                "status",
                "Watches with this status, case-insensitive.",
                .line(64)
            ),
            .choice("payment", "Watches with this payment state."),
            .accounts("Watches of this account only."),
            .choice("kind", "Watches of this kind only.", .shape("Kind"))
        ) { state, status, payment, accounts, kind in
            ListQuery(
                state: state,
                status: status,
                payment: payment,
                accounts: accounts,
                kind: kind
            )
        }
    }
}

extension RouteInput where Value == String? {
    /// The cursor of a list of watches.
    ///
    /// Cursors belong to the store. Only their form is checked here.
    fileprivate static var checkedCursor: Self {
        .all(.cursor()) { text throws(Problem) in
            guard let text else { return nil }
            guard text.utf8.count <= 1024, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw Problem.parameter(
                    "cursor",
                    "is invalid: use next of the previous page, unchanged"
                )
            }
            return text
        }
    }
}
