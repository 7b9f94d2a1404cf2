import Poller
import StripeAPI
import Synchronization

/// Looks for one charge among all of an account, newest first, to the end or until the time is up.
///
/// "Not there" is said only when the end was seen: in between it is unknown, and charging on that
/// may charge twice. Stripe lists charges by customer and by time, not by source
/// (`GET /v1/charges`), so a busy account has more of them than one poll has time for: where a
/// search stopped is kept for ``marksSpan``, and the next one in this process goes on there. It
/// need not look again at what is newer: whatever is made meanwhile for the same order is made
/// with the same idempotency key, which Stripe remembers for longer than a mark is kept.
struct ChargeSearch {
    /// How a search ended.
    enum Outcome {
        case found(StripeAPI.Charge)
        /// Every charge it could be was looked at.
        case nothing
        /// The end was not seen.
        case unknown(String)
    }

    /// Pages of 100 that one search reads: lists are dear, and share their limit with the account's
    /// own use.
    private static let pagesMax = 50
    /// Less time than this is not worth a request.
    private static let patienceMin = Duration.milliseconds(200)

    /// What is looked for, so that a later search for the same goes on.
    let name: String
    /// Whose charges, when the source belongs to somebody.
    let customer: String?
    /// When the source was made; nothing older can be its charge.
    let created: Int?
    let isWanted: @Sendable (StripeAPI.Charge) -> Bool

    /// Looks until `end`, counted by `elapsed`.
    func run(
        _ client: StripeClient,
        until end: Duration,
        _ elapsed: @Sendable () -> Duration,
        _ marks: ChargeSearchMarks
    ) async -> Outcome {
        var cursor = marks.cursor(of: name, at: elapsed())
        do throws(StripeError) {
            for _ in 0..<Self.pagesMax {
                let patience = end - elapsed()
                guard patience >= Self.patienceMin else { break }
                let response = try await client.get(
                    "/v1/charges",
                    query: query(after: cursor),
                    timeout: patience
                )
                let page = try response.decode(StripeList<StripeAPI.Charge>.self)
                if let found = page.data.first(where: isWanted) {
                    marks.forget(name)
                    return .found(found)
                }
                guard page.hasMore, let last = page.data.last else {
                    marks.forget(name)
                    return .nothing
                }
                cursor = last.id
                marks.note(name, cursor: last.id, at: elapsed())
            }
            return .unknown("there are more charges than were looked through so far")
        } catch {
            // Where it stopped may have ceased to be a place: then it begins anew.
            if error.code == "resource_missing" { marks.forget(name) }
            return .unknown("\(error)")
        }
    }

    private func query(after cursor: String?) -> [(String, String)] {
        // What became of a refund only the refund itself says.
        var query = [("limit", "100"), ("expand[]", "data.refunds")]
        if let customer { query.append(("customer", customer)) }
        if let created { query.append(("created[gte]", "\(created)")) }
        if let cursor { query.append(("starting_after", cursor)) }
        return query
    }
}

/// Where the searches of this process stopped.
///
/// A class, because the polls of all watches share it. It forgets everything beyond a bound: the
/// worst that comes of it is a search that begins anew.
final class ChargeSearchMarks: Sendable {
    /// Searches remembered: some 200 kB.
    private static let countMax = 1000
    /// How long a mark holds: a search goes on at every poll, a minute apart at most, and an hour
    /// is far less than the day for which Stripe keeps idempotency keys.
    private static let span = Duration.seconds(3600)

    /// Where a search stopped, and when it began.
    private struct Mark {
        let cursor: String
        let began: Duration
    }

    private let marks = Mutex<[String: Mark]>([:])

    func cursor(of name: String, at now: Duration) -> String? {
        marks.withLock { marks in
            guard let mark = marks[name], now - mark.began < Self.span else {
                marks[name] = nil
                return nil
            }
            return mark.cursor
        }
    }

    func note(_ name: String, cursor: String, at now: Duration) {
        marks.withLock { marks in
            if marks[name] == nil, marks.count >= Self.countMax {
                marks.removeAll(keepingCapacity: true)
            }
            marks[name] = Mark(cursor: cursor, began: marks[name]?.began ?? now)
        }
    }

    func forget(_ name: String) {
        marks.withLock { $0[name] = nil }
    }
}
