import Hummingbird
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerWatches
import PollerWire

/// The number of watches that match a filter, and the sums of their payments.
///
/// *Limits.* No index has counts or sums, since every poll would have to update them. So the records are read, the
/// newest first. At most ``countMax`` watches are counted. If the index does not select them, at most ``recordsReadMax``
/// records are read, which takes at most a second, in the queue of full searches (``ScanGate``). Records of other
/// accounts are skipped and not counted, so the pages are limited to ``pagesMax``, too. `capped` says that there may be
/// more.
struct WatchSummaryRoutes {
    static let countMax = 10_000
    static let recordsReadMax = 20_000
    static let pagesMax = 40
    /// The watches per read, the same as a page.
    private static let pageMax = 500

    private static let summarise = Route(
        .get,
        "/v1/watches/summary",
        "summariseWatches",
        "Count the watches of a filter, and sum up their payments",
        """
        The filters are those of GET /v1/watches. At most 10,000 watches are counted, the newest first. If filters \
        exclude most watches, about 20,000 are read, on at most 40 pages; capped means that there are, or may be, \
        more.
        """,
        access: .key(.readWatches),
        input: .selected(.choice("state", WatchSearch.stateDescription)),
        answers: [.ok("The count and the sums.", "WatchSummary")]
    )

    let watches: any WatchStore
    let scans: Scans
    /// Returns the current time, from which ages in a search are computed.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] { [Self.summarise.answered(by: summarise)] }

    private func summarise(_ search: WatchSearch, _ context: APIContext) async throws -> Response {
        let query = try search.query(among: watches.searchKeys, at: now())
        let summary = try await Self.summary(isSelective: query.isSelective) { limit, cursor in
            try await scans.count(query.page(limit: limit, after: cursor), for: context.caller)
        }
        return Response(summary)
    }

    /// Counts the watches of pages and adds their sums, up to the limits of one response.
    ///
    /// - Parameters:
    ///   - isSelective: whether some of the records that are read are not counted.
    ///   - page: reads the given number of watches after a cursor.
    /// - Returns: the number of watches, and their sums.
    /// - Throws: the errors of `page`.
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
            // Without a filter every record that is read is counted.
            if isSelective { looked += page.looked }
            for payment in page.items.compactMap(\.payment) {
                guard let amount = payment.amount, let currency = payment.currency else { continue }
                sums[currency.lowercased(), default: .zero] += amount
            }
            (cursor, pages) = (page.next, pages + 1)
        } while cursor != nil && summary.count < countMax && looked < recordsReadMax
            && pages < pagesMax
        summary.isCapped = cursor != nil
        summary.sums = sums.sorted { $0.key < $1.key }.map { currency, amount in
            WatchSummary.Sum(currency: currency, amount: amount.minorUnits)
        }
        return summary
    }
}

extension Scans {
    /// Reads a page only to count it.
    ///
    /// Each page waits in the queue, with any filter.
    func count(_ query: ListQuery, for caller: Caller) async throws -> ListPage<WatchSnapshot> {
        let page = try await gate.run(for: caller.name) { try await watches.list(query) }
        if caller != .local {
            rates.charge(key: caller.name, records: max(page.looked, page.items.count))
        }
        return page
    }
}
