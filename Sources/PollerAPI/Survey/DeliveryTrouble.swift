import Poller

/// What the lists of deliveries tell that no counter does, as `pollerctl delivery list` shows it.
struct DeliveryTrouble: Hashable, Sendable {
    /// Deliveries read for it: each is a read of its own, some tens of milliseconds in all.
    private static let readMax = 500
    /// Pages read: an empty partition is one too.
    private static let pagesMax = 100

    /// Those that failed and are tried again.
    let failing: Int
    /// Those that gave something up, also when they go on with what came later.
    let dead: Int

    init(failing: Int, dead: Int) {
        self.failing = failing
        self.dead = dead
    }

    /// Reads the lists; nil when there are too many deliveries to read them for a check.
    init?(_ book: any DeliveryBook, stats: StoreStats) async throws(StoreError) {
        guard stats.pending + stats.leased + stats.quarantined <= Self.readMax,
            let failing = try await Self.count(.failing, book),
            let dead = try await Self.count(.dead, book)
        else { return nil }
        self.init(failing: failing, dead: dead)
    }

    private static func count(
        _ state: DeliverySnapshot.State,
        _ book: any DeliveryBook
    ) async throws(StoreError) -> Int? {
        var count = 0
        var cursor: String?
        for _ in 0..<pagesMax {
            let query = DeliveryQuery(state: state, limit: readMax, cursor: cursor)
            let page = try await book.deliveries(query)
            count += page.items.count
            guard let next = page.next else { return count }
            cursor = next
        }
        return nil
    }
}
