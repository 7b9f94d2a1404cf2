import BenchPlan

/// Measures the growth of a poll's cost with the rate, the accounts, the workers, and the waiting watches.
///
/// Each series varies one value. The others stay at 1,000 polls a second, 100 accounts, one worker and no waiting
/// watches. Each point is a ``RealBench`` load with real processes.
///
/// *Limits*: at most ``BenchPlan/pending`` watches wait, as time and memory allow. A million take a minute and a half
/// to prepare and 300 MB of Redis. Ten million take ten times both.
struct GrowthBench: Sendable {
    private static let rate = 1000
    private static let accounts = 100

    let bench: RealBench

    func measure(_ report: inout BenchReport) async throws {
        let upstream = try await BenchUpstream.start(otherwise: bench.sandboxURL)
        defer { upstream.stop() }
        var growth = BenchReport()
        growth.add("upstream", "upstream", upstream.name)
        for (name, loads) in series {
            var points = BenchReport()
            for (x, load) in loads {
                points.add(String(x), try await bench.measure(load, upstream))
            }
            growth.add(name, points)
        }
        report.add("growth", growth)
    }

    /// A load with its varied value.
    private typealias Point = (x: Int, load: RealLoad)

    /// The loads of each series.
    private var series: [(name: String, points: [Point])] {
        [
            ("polls_per_s", rates), ("accounts", accounts), ("workers", workers),
            ("pending", pending),
        ]
    }

    /// Loads by polls a second.
    ///
    /// 0 means the maximum.
    private var rates: [Point] {
        var points: [Point] = []
        for rate in [10, 100, 1000, 4000] {
            let title = "\(rate) polls/s"
            points.append((rate, RealLoad(title, accounts: Self.accounts, rate: rate)))
        }
        points.append((0, RealLoad("most polls/s", accounts: Self.accounts, rate: nil)))
        return points
    }

    /// Loads by accounts.
    ///
    /// Each has a waiting watch, so that its lane exists.
    private var accounts: [Point] {
        var points: [Point] = []
        for count in [1, 10, 100, 1000, 10_000, 100_000] where count <= bench.plan.watches {
            var load = RealLoad("\(count) accounts", accounts: count, rate: Self.rate)
            load.pending = count
            points.append((count, load))
        }
        return points
    }

    /// Loads by processes that share them.
    private var workers: [Point] {
        var points: [Point] = []
        for count in [1, 2, 4, 8, 16, 32, 64] {
            var load = RealLoad("\(count) workers", accounts: Self.accounts, rate: Self.rate)
            load.workers = count
            points.append((count, load))
        }
        return points
    }

    /// Loads by watches that wait for an hour or more.
    private var pending: [Point] {
        var points: [Point] = []
        for count in [10_000, 100_000, 1_000_000, 10_000_000] where count <= bench.plan.pending {
            var load = RealLoad("\(count) pending", accounts: Self.accounts, rate: Self.rate)
            load.pending = count
            points.append((count, load))
        }
        return points
    }
}
