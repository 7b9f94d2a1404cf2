import BenchPlan
import PollerIdentity
import PollerQueue
import PollerRedis
import RedisClient

/// Measures the cost of each operation of the queue and the store for Redis, by size.
///
/// Three series vary one number each: watches over 16 partitions and 100 lanes, lanes in a single partition, and
/// announced processes. A store grows from point to point. At each point every operation is called as often as
/// ``ScaleOperations`` defines, one call after the other. A tenth of the watches has ended, with an event and a
/// searchable order. The others wait for an hour or more.
///
/// *Limits*: only Redis is measured. Ten million watches take 4 GB and some five minutes.
struct ScaleBench: Sendable {
    /// The figures at one point of a series.
    private typealias Point = (size: Int, figures: [ScaleFigure])

    private static let lanes = 100

    let store: BenchStore
    let plan: BenchPlan

    func measure(_ report: inout BenchReport) async throws {
        // A rewrite of the append-only file would slow everything down.
        let rewrites = "auto-aof-rewrite-percentage"
        _ = try await store.client.sendToMasters(
            RedisCommand("CONFIG", ["SET", .string(rewrites), "0"])
        )
        var scale = BenchReport()
        let watches = try await grow(plan.scaleWatches, on: store) { count in
            ScaleStore(store: store, lanes: min(Self.lanes, count))
        }
        Self.add("watches", watches, to: &report, &scale)
        // A new store in the same database, because the number of partitions is set at creation.
        try await BenchStore.flush(store.client)
        let narrow = try await BenchStore(client: store.client, logger: store.logger, partitions: 1)
        var lanes: [Point] = []
        for count in plan.scaleLanes {
            lanes += try await grow([count], on: narrow) { ScaleStore(store: narrow, lanes: $0) }
            try await narrow.clear()
        }
        Self.add("lanes", lanes, to: &report, &scale)
        let processes = try await announce(on: narrow)
        Self.add("processes", processes, to: &report, &scale)
        report.add("scale", scale)
    }

    /// Fills a store to one size after the other, and calls every operation at each.
    private func grow(
        _ sizes: [Int],
        on store: BenchStore,
        _ filled: (Int) -> ScaleStore
    ) async throws -> [Point] {
        var points: [Point] = []
        var before = (count: 0, bytes: try await store.usedMemory())
        for size in sizes {
            let scale = filled(size)
            try await scale.fill(before.count..<size)
            let bytes = try await store.usedMemory()
            let weight = (bytes - before.bytes) / Double(size - before.count)
            var operations = ScaleOperations(scale: scale, count: size)
            try await operations.measure()
            let memory = ScaleFigure(
                name: "memory",
                title: "memory of a watch",
                bytes: weight
            )
            points.append((size, [memory] + operations.figures))
            before = (size, try await store.usedMemory())
        }
        return points
    }

    /// Measures a heartbeat among a number of processes.
    ///
    /// Each process sends one every two seconds.
    private func announce(on store: BenchStore) async throws -> [Point] {
        let members = RedisMembership(client: store.client, layout: store.layout)
        var generator = SystemRandomNumberGenerator()
        var points: [Point] = []
        var known: [Member] = []
        for size in plan.scaleProcesses {
            while known.count < size {
                known.append(
                    Member(
                        owner: OwnerID(using: &generator),
                        roles: "worker",
                        pid: known.count,
                        host: "host-\(known.count)",
                        version: "0.0.0",
                        startedAt: BenchStore.wallClock(),
                        inFlight: 0,
                        slots: 256
                    )
                )
            }
            // Includes the members of the previous point, because a heartbeat is valid for seconds only.
            for member in known { _ = try await members.beat(member, for: .seconds(50)) }
            let meter = ScaleMeter(store: store)
            let figure = try await meter.measure("beat", "a process sends its heartbeat", 500) {
                number in
                _ = try await members.beat(known[number % known.count], for: .seconds(50))
                return 1
            }
            points.append((size, [figure]))
        }
        return points
    }

    /// Adds a series to the table, one line per operation, and to the JSON.
    private static func add(
        _ series: String,
        _ points: [Point],
        to report: inout BenchReport,
        _ scale: inout BenchReport
    ) {
        let sizes = points.map { "\($0.size)" }.joined(separator: ", ")
        report.note("by \(series): \(sizes)", "µs of Redis, commands")
        for (index, figure) in (points.first?.figures ?? []).enumerated() {
            let all = points.map { $0.figures[index].text }.joined(separator: " | ")
            report.note("  \(figure.title)", all)
        }
        var group = BenchReport()
        for point in points {
            var figures = BenchReport()
            for figure in point.figures { figures.add(figure.name, figure.report) }
            group.add(String(point.size), figures)
        }
        scale.add(series, group)
    }
}

/// The cost of one operation, per unit in its title.
struct ScaleFigure: Sendable {
    let name: String
    let title: String
    /// CPU of Redis.
    var us = 0.0
    /// Commands that Redis executed, including those of scripts.
    ///
    /// They do not depend on the machine.
    var commands = 0.0
    /// The duration of the longest script, during which all other clients waited.
    var longestUs = 0.0
    /// The memory, in place of the values above.
    var bytes: Double?

    var text: String {
        guard let bytes else { return "\(Self.short(us)) µs, \(Self.short(commands))" }
        return "\(Self.short(bytes)) bytes"
    }

    var report: BenchReport {
        var report = BenchReport()
        if let bytes {
            report.keep("bytes", bytes)
        } else {
            report.keep("us", us)
            report.keep("commands", commands)
            report.keep("longest_us", longestUs)
        }
        return report
    }

    private static func short(_ value: Double) -> String {
        value >= 10 ? String(Int(value.rounded())) : String((value * 10).rounded() / 10)
    }
}

/// Calls an operation repeatedly and reads its cost from Redis.
struct ScaleMeter: Sendable {
    let store: BenchStore

    /// Calls `body` a number of times.
    ///
    /// `body` returns the number of units it processed.
    func measure(
        _ name: String,
        _ title: String,
        _ times: Int,
        _ body: (Int) async throws -> Int
    ) async throws -> ScaleFigure {
        let percentiles = "latency-tracking-info-percentiles"
        for words in [["SET", percentiles, "100"], ["RESETSTAT"]] {
            let arguments = words.map { RedisArgument.string($0) }
            _ = try await store.client.sendToMasters(RedisCommand("CONFIG", arguments))
        }
        let before = try await store.cpu()
        var count = 0
        for number in 0..<times { count += try await body(number) }
        let seconds = try await store.cpu() - before
        guard count > 0 else { throw BenchError("\(title): there was nothing to do") }
        let (commands, longest) = try await statistics()
        return ScaleFigure(
            name: name,
            title: title,
            us: seconds * 1e6 / Double(count),
            commands: Double(commands) / Double(count),
            longestUs: longest
        )
    }

    /// Returns the commands since the statistics were reset, and the duration of the longest script in µs.
    private func statistics() async throws -> (commands: Int, longestUs: Double) {
        var (commands, longest) = (0, 0.0)
        for section in ["commandstats", "latencystats"] {
            for (_, line) in try await store.info(section) {
                // The commands of the measurement itself.
                if line.hasPrefix("cmdstat_info:") || line.hasPrefix("cmdstat_config") { continue }
                if line.hasPrefix("cmdstat_") {
                    commands += line.number(behind: "calls=").map { Int($0) } ?? 0
                } else if line.hasPrefix("latency_percentiles_usec_fcall") {
                    longest = max(longest, line.number(behind: "p100=") ?? 0)
                }
            }
        }
        return (commands, longest)
    }
}
