import Hummingbird
import Poller
import PollerWire

/// How many watches a filter finds, and what their payments come to.
///
/// *Limits.* No index has counts or sums, since every poll would have to write them: the records are read, the newest
/// first. So ``countMax`` are counted, and ``looksMax`` are looked at where the index does not say which ones match:
/// a second of work at most, in the queue of searches among all records (``ScanGate``). What is of other accounts is
/// passed without being counted, so there are ``pagesMax`` pages at most, too. `capped` says that there may be more.
struct WatchSummaryRoutes {
    static let countMax = 10_000
    static let looksMax = 20_000
    static let pagesMax = 40
    /// Watches read at a time: as many as a page has.
    private static let pageMax = 500

    private static let summarise = Route(
        .get,
        "/v1/watches/summary",
        "summariseWatches",
        "How many watches a filter finds, and the sums of their payments",
        """
        The filters are those of GET /v1/watches. At most 10,000 watches are counted, the newest first. Where \
        filters leave out most of them some 20,000 are looked at, on 40 pages at most; capped says that there \
        are more, or may be.
        """,
        access: .key(.readWatches),
        input: .selected(.choice("state", WatchSearch.stateDescription)),
        answers: [.ok("The count and the sums.", "WatchSummary")]
    )

    let watches: any WatchStore
    let scans: Scans
    /// What ages in a search are counted from.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] { [Self.summarise.answered(by: summarise)] }

    @Sendable
    private func summarise(
        _ search: WatchSearch,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let query = try search.query(among: watches.searchKeys, at: now())
        let summary = try await Self.summary(isSelective: query.isSelective) { limit, cursor in
            try await scans.count(query.page(limit: limit, after: cursor), for: context.caller)
        }
        return Response(summary)
    }

    /// Counts and adds what is on pages, as far as one answer goes.
    ///
    /// - Parameters:
    ///   - isSelective: whether records are looked at that are not counted.
    ///   - page: reads so many behind a cursor.
    /// - Returns: how many there are, and their sums.
    /// - Throws: what `page` throws.
    static func summary(
        isSelective: Bool,
        _ page: (Int, String?) async throws -> ListPage<WatchSnapshot>
    ) async throws -> WatchSummary {
        var summary = WatchSummary()
        var sums: [String: Amount] = [:]
        var cursor: String?
        var (looked, pages) = (0, 0)
        repeat {
            let page = try await page(min(pageMax, countMax - summary.count), cursor)
            summary.count += page.items.count
            // Without a filter every record that is looked at is counted.
            if isSelective { looked += page.looked }
            for payment in page.items.compactMap(\.payment) {
                guard let amount = payment.amount, let currency = payment.currency else { continue }
                sums[currency.lowercased(), default: .zero] += amount
            }
            (cursor, pages) = (page.next, pages + 1)
        } while cursor != nil && summary.count < countMax && looked < looksMax && pages < pagesMax
        summary.isCapped = cursor != nil
        summary.sums = sums.sorted { $0.key < $1.key }.map { currency, amount in
            WatchSummary.Sum(currency: currency, amount: amount.minorUnits)
        }
        return summary
    }
}

extension Scans {
    /// A page that is only counted: each waits for its turn, whatever the filter.
    func count(_ query: ListQuery, for caller: Caller) async throws -> ListPage<WatchSnapshot> {
        let page = try await gate.run(for: caller.name) { try await watches.list(query) }
        if caller != .local {
            rates.charge(key: caller.name, records: max(page.looked, page.items.count))
        }
        return page
    }
}
