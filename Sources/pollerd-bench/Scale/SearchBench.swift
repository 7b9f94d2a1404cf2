import BenchPlan
import Histogram
import PollerIdentity
import PollerRedis
import PollerWatches

/// Measures searches for watches and the memory of index entries, in a large store.
///
/// Each search is compared with a lower bound of the same run: reading a watch by name, which is one call of one
/// script.
struct SearchBench: Sendable {
    /// The number of watches per customer.
    private static let perCustomer = 20
    private static let searches = 5000

    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        let count = plan.watches
        let bare = try await fill(count, metadata: false)
        try await store.clear()
        let full = try await fill(count, metadata: true)
        let metadata = Self.metadata(of: 0).utf8.count
        report.add("watches to search", "search_watches", Double(count), "")
        report.add(
            "  memory of one, without metadata",
            "search_bytes_per_watch_without_metadata",
            bare,
            "bytes"
        )
        report.add(
            "  with \(metadata) bytes of them, an order and two names",
            "search_bytes_per_watch",
            full,
            "bytes"
        )
        let keys = try store.keys(count)
        let lanes = Set(keys.map(\.lane)).count
        let read = try await time { number in
            _ = try await store.watches.snapshot(of: keys[number % count])
            return 1
        }
        report.add("reading a watch by its name", "search_floor_ms", read)
        try await search("by order", "order", &report) { "order=A\($0 % count)" }
        try await search("by source, among \(lanes) lanes", "source", &report) {
            "\(keys[$0 % count].source)"
        }
        try await search("by a word alone", "word", &report) { "a\($0 % count)" }
        try await search("by the beginning of an order", "beginning", &report) {
            "a\(($0 % count) / 10)"
        }
        try await search("by customer, \(Self.perCustomer) watches", "customer", &report) {
            "customer=c\($0 % max(count / Self.perCustomer, 1))"
        }
        let scan = try await time(20) { number in
            let query = try query("error=timeout amount>\(number)")
            return try await store.watches.list(ListQuery(search: query)).looked
        }
        report.add("looking at 2,000 records", "search_scan_ms", scan)
    }

    private func search(
        _ title: String,
        _ member: String,
        _ report: inout BenchReport,
        _ text: @Sendable (Int) -> String
    ) async throws {
        let latency = try await time { number in
            let query = try query(text(number))
            return try await store.watches.list(ListQuery(search: query)).items.count
        }
        report.add("search \(title)", "search_\(member)_ms", latency)
    }

    private func query(_ text: String) throws -> SearchQuery {
        try SearchQuery(text, keys: .standard, now: BenchStore.wallClock())
    }

    /// Measures sequential calls spread over the whole store.
    ///
    /// A call without a result is an error.
    private func time(
        _ times: Int = searches,
        _ body: (Int) async throws -> Int
    ) async throws -> BenchReport.Latency {
        var latency = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        for number in 0..<times {
            let began = store.clock.now
            // A prime, so that consecutive calls are not neighbours in the store.
            let found = try await body(number &* 7919)
            let took = began.duration(to: store.clock.now)
            guard found > 0 else { throw BenchError("a search has found nothing") }
            latency.record(UInt64(took / .microseconds(1)))
        }
        return latency.latency
    }

    /// Fills the store and returns the memory of Redis per watch, in bytes.
    private func fill(_ count: Int, metadata: Bool) async throws -> Double {
        let before = try await store.usedMemory()
        let keys = try store.keys(count)
        for start in stride(from: 0, to: count, by: 8192) {
            let part = start..<min(start + 8192, count)
            _ = try await store.watches.enqueue(
                part.map { number in
                    try NewWatch(
                        key: keys[number],
                        metadata: metadata ? Self.metadata(of: number) : ""
                    )
                }
            )
        }
        return (try await store.usedMemory() - before) / Double(count)
    }

    private static func metadata(of number: Int) -> String {
        "{\"order\":\"A\(number)\",\"customer\":\"Jane C\(number / perCustomer)\"}"
    }
}
