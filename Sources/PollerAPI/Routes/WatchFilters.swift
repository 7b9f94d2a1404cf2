import PollerIdentity
import PollerWatches

/// The range of creation times, as entered.
struct CreatedRange: Hashable {
    var after: String?
    var before: String?

    /// Returns the range as instants.
    ///
    /// Ages are relative to `now`.
    func instants(at now: Timestamp) throws(Problem) -> (from: Timestamp?, before: Timestamp?) {
        (
            try Self.instant(after, "created_after", now),
            try Self.instant(before, "created_before", now)
        )
    }

    private static func instant(
        _ text: String?,
        _ name: String,
        _ now: Timestamp
    ) throws(Problem) -> Timestamp? {
        guard let text else { return nil }
        guard let instant = SearchQuery.instant(text, at: now) else {
            throw Problem.parameter(
                name,
                "must be a day such as 2026-11-23, a time such as "
                    + "2026-11-23T09:30:00Z, or an age such as 2d."
            )
        }
        return instant
    }
}

extension RouteInput where Value == CreatedRange {
    /// The parameters `created_after` and `created_before`.
    static var created: Self {
        .all(
            .text(
                "created_after",
                "Watches created at or after this day or time, or within this age: "
                    + "2026-11-23, 2026-11-23T09:30:00Z, 2d.",
                .notEmpty
            ),
            .text(
                "created_before",
                "Watches created before this day or time, or longer ago than this age.",
                .notEmpty
            )
        ) { CreatedRange(after: $0, before: $1) }
    }
}

enum ListFormat: String, CaseIterable, Sendable {
    case json
    case csv
}

extension RouteInput where Value == ListFormat {
    /// The parameter `format`.
    static var format: Self {
        let named = RouteInput<ListFormat?>.choice(
            "format",
            "json for a page of the list; csv for all watches found in one response "
                + "(RFC 4180), for spreadsheets. limit and cursor do not apply to csv."
        )
        return Self(named.parameters) { values throws(Problem) in
            try named.read(values) ?? .json
        }
    }
}

extension ListQuery {
    /// Returns the query for another page.
    func page(limit: Int, after cursor: String?) -> ListQuery {
        let query = ListQuery(
            state: state,
            status: status,
            payment: payment,
            accounts: accounts,
            kind: kind,
            limit: limit,
            cursor: cursor
        )
        return search.map(query.searching) ?? query
    }
}
