import StripeAPI
import Synchronization

/// Searches one charge among all charges of an account, newest first, until the end of the list or a deadline.
///
/// The result is `nothing` only if the whole list was read. Otherwise the outcome is unknown, and charging again
/// might charge twice. Stripe lists charges by customer and time, not by source (`GET /v1/charges`), so a busy
/// account can have more charges than one poll can read. The position of an unfinished search is kept for up to an
/// hour (``ChargeSearchPositions``), and the next search in this process continues there. Newer charges need no second
/// check: any charge created meanwhile for the same order has the same idempotency key, which Stripe keeps for longer
/// than that.
struct ChargeSearch {
    /// The result of a search.
    enum Outcome {
        case found(StripeAPI.Charge)
        /// Every possible charge was checked.
        case nothing
        /// The end of the list was not reached.
        case unknown(String)
    }

    /// The maximum number of pages of 100 that one search reads.
    ///
    /// List requests are expensive and count towards the account's own rate limit.
    private static let pagesMax = 50
    /// The minimum time left for another request.
    private static let patienceMin = Duration.milliseconds(200)

    /// The name of the search, under which a later search continues.
    let name: String
    /// The customer whose charges are searched, if the source belongs to a customer.
    let customer: String?
    /// The creation time of the source; an older charge cannot be its charge.
    let created: Int?
    let isWanted: @Sendable (StripeAPI.Charge) -> Bool

    /// Searches until `end`, measured by `elapsed`.
    func run(
        _ client: StripeClient,
        until end: Duration,
        _ elapsed: @Sendable () -> Duration,
        _ positions: ChargeSearchPositions
    ) async -> Outcome {
        let client = client.readingPages
        var cursor = positions.cursor(of: name, at: elapsed())
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
                    positions.forget(name)
                    return .found(found)
                }
                guard page.hasMore, let last = page.data.last else {
                    positions.forget(name)
                    return .nothing
                }
                cursor = last.id
                positions.note(name, cursor: last.id, at: elapsed())
            }
            return .unknown("not all charges have been searched yet")
        } catch {
            // The charge at the cursor may no longer exist. Then the search starts from the beginning.
            if error.code == "resource_missing" { positions.forget(name) }
            return .unknown("\(error)")
        }
    }

    private func query(after cursor: String?) -> [(String, String)] {
        // Only the refund object shows the outcome of a refund.
        var query = [("limit", "100"), ("expand[]", "data.refunds")]
        if let customer { query.append(("customer", customer)) }
        if let created { query.append(("created[gte]", "\(created)")) }
        if let cursor { query.append(("starting_after", cursor)) }
        return query
    }
}

/// The positions of unfinished searches in this process, and the times of first searches.
///
/// When the limit is reached, all positions are dropped. The only cost is that those searches start from the beginning.
final class ChargeSearchPositions: Sendable {
    /// The maximum number of stored positions, about 200 kB.
    private static let countMax = 1000
    /// The maximum number of stored ages, about 2 MB.
    private static let begunMax = 10_000
    /// How long a position is used, from its first page.
    ///
    /// A search continues at every poll, at most a minute apart. A charge made meanwhile is not searched for: it has
    /// the same idempotency key, which Stripe keeps for a day.
    private static let span = Duration.seconds(3600)

    /// The position at which a search stopped, and the time at which it started.
    private struct Position {
        let cursor: String
        let began: Duration
    }

    private let positions = Mutex<[String: Position]>([:])
    /// The time of the first call, by name.
    private let begun = Mutex<[String: Duration]>([:])

    func cursor(of name: String, at now: Duration) -> String? {
        positions.withLock { positions in
            guard let position = positions[name], now - position.began < Self.span else {
                positions[name] = nil
                return nil
            }
            return position.cursor
        }
    }

    func note(_ name: String, cursor: String, at now: Duration) {
        positions.withLock { positions in
            if positions[name] == nil, positions.count >= Self.countMax {
                positions.removeAll(keepingCapacity: true)
            }
            positions[name] = Position(cursor: cursor, began: positions[name]?.began ?? now)
        }
    }

    /// Returns the time since the first call with this name, which is forgotten after an hour.
    ///
    /// A name is kept although others are new: its caller waits until it has a certain age.
    func age(of name: String, at now: Duration) -> Duration {
        begun.withLock { begun in
            if let since = begun[name], now - since < Self.span { return now - since }
            begun[name] = nil
            if begun.count >= Self.begunMax { begun = begun.filter { now - $0.value < Self.span } }
            if begun.count < Self.begunMax { begun[name] = now }
            return .zero
        }
    }

    func forget(_ name: String) {
        positions.withLock { $0[name] = nil }
    }
}
