import BenchPlan
import ChildPrograms
import Poller
import PollerRedis
import Synchronization

/// What a hundred thousand listeners cost the gateways they share: an event that nobody hears, one that is heard, and
/// a frame.
///
/// The gateways are processes of their own. A worker in this one records ``rate`` events a second, whatever is heard
/// of them, so the difference between two loads is the price of what is heard alone:
///
/// | load | of the events |
/// |---|---|
/// | quiet | there are none |
/// | unheard | nobody hears any |
/// | one | a tenth is heard, by one listener each |
/// | many | a tenth is heard, by as many each as half of all listeners are |
///
/// Beside them a `redis-cli` listens to the news of the outbox: a program in C that does nothing but read a line for
/// each event is what being woken costs.
struct CrowdBench: Sendable {
    /// Gateways that share the listeners, one run for each.
    static let gatewayCounts = [1, 3]
    /// Events a second.
    private static let rate = 1000
    /// Between two events of a watch.
    private static let interval = Duration.seconds(5)
    /// Of each kind of source that is heard: a tenth of those with events.
    private static let heardCount = 500
    private static let enterTimeout = Duration.seconds(300)

    let store: BenchStore
    let plan: BenchPlan
    let redisURL: String
    let gatewayCount: Int

    /// A gateway process, and where it listens.
    private struct Running {
        let port: Int
        let process: PollerdProcess
    }

    /// What was counted over a span.
    private struct Load {
        let seconds: Double
        let events: Double
        let heardEvents: Double
        let frames: Double
        /// CPU seconds of all gateways, of Redis and of the floor.
        let gatewayCPU: Double
        let redisCPU: Double
        let floorCPU: Double?
        let toFrame: BenchReport.Latency
    }

    func measure(_ report: inout BenchReport) async throws {
        let gateways = try (0..<gatewayCount).map { _ in
            let port = try FreePort.find()
            let bind = ["POLLER_GATEWAY_BIND": "127.0.0.1:\(port)"]
            let process = try PollerdProcess("gateway", redisURL: redisURL, environment: bind)
            return Running(port: port, process: process)
        }
        defer { for gateway in gateways { gateway.process.stop() } }
        var figures = BenchReport()
        try await measure(gateways, &figures)
        report.add(gatewayCount == 1 ? "crowd" : "crowd_of_\(gatewayCount)", figures)
        try await store.clear()
    }

    private func measure(_ gateways: [Running], _ report: inout BenchReport) async throws {
        let others = try store.keys(Self.rate * 5, prefix: "o")
        let byOne = try store.keys(Self.heardCount, prefix: "h")
        let byMany = try store.keys(Self.heardCount, prefix: "m")
        let each = max(plan.watches / 2 / Self.heardCount, 1)
        let idle = max(plan.watches - Self.heardCount * (1 + each), 0)
        let heard = Set((byOne + byMany).map(\.source))
        let active = Mutex<Set<SourceID>>([])
        let pace = BenchHandler.spread(over: Self.interval)
        let handler = BenchHandler(
            eventEvery: 1,
            counting: { heard.contains($0.key.source) },
            pace: { watch in
                active.withLock { $0.contains(watch.key.source) } ? pace(watch) : .seconds(3600)
            }
        )
        let crowd = Crowd(
            byOne + byMany.flatMap { Array(repeating: $0, count: each) }
                + (try store.keys(idle, prefix: "q")),
            recordedAt: { id in handler.tally.withLock { $0.sent[id] } }
        )
        try await enter(crowd, gateways, &report)
        let floor = try await floorReader()
        defer { floor?.kill() }

        let quiet = try await load(.zero, handler, crowd, gateways, floor)
        var loads: [Load] = []
        try await store.withWorker(handler, concurrency: 1024) {
            for (new, part) in [
                (others, others), (byOne, others.dropLast(Self.heardCount) + byOne),
                (byMany, others.dropLast(Self.heardCount) + byMany),
            ] {
                active.withLock { $0 = Set(part.map(\.source)) }
                try await store.fill(new)
                let settling = Self.interval + .seconds(2)
                loads.append(try await load(settling, handler, crowd, gateways, floor))
            }
            active.withLock { $0 = [] }
            try await store.clock.sleep(for: Self.interval + .seconds(2))
        }
        if let unexpected = crowd.news.unexpected {
            throw BenchError("a gateway said \(unexpected.prefix(200))")
        }
        add(quiet, loads[0], loads[1], loads[2], &report)
        let wanted = try await events(of: byOne) + events(of: byMany) * each
        report.add("  frames lost", "frames_lost", Double(wanted - crowd.framesTotal), "")
        await crowd.leave()
    }

    /// How many events were recorded of watches.
    private func events(of keys: [WatchKey]) async throws -> Int {
        var count = 0
        for key in keys { count += try await store.watches.snapshot(of: key)?.watch.seq ?? 0 }
        return count
    }

    /// Brings the listeners in, and weighs them.
    private func enter(
        _ crowd: Crowd,
        _ gateways: [Running],
        _ report: inout BenchReport
    ) async throws {
        // The first connections bring what all share: pools, tables, code.
        let first = Crowd(try store.keys(1000, prefix: "w")) { _ in nil }
        try await first.enter(ports: gateways.map(\.port))
        try await wait(for: first)
        let before = try resident(gateways)
        let began = store.clock.now
        try await crowd.enter(ports: gateways.map(\.port))
        try await wait(for: crowd)
        let title = gatewayCount == 1 ? "of one gateway" : "of \(gatewayCount) gateways"
        report.add("listeners \(title)", "listeners", Double(crowd.count), "")
        let took = began.duration(to: store.clock.now) / .seconds(1)
        report.add("  all have subscribed after", "entered_s", took, "s")
        let each = (try resident(gateways) - before) / Double(crowd.count)
        let sockets = "  memory of one, \(Crowd.listenersPerSocket) a socket"
        report.add(sockets, "kib_per_listener", each, "KiB")
        await first.leave()
    }

    private func wait(for crowd: Crowd) async throws {
        let end = store.clock.now.advanced(by: Self.enterTimeout)
        while crowd.caughtUp < crowd.count {
            if let unexpected = crowd.news.unexpected {
                throw BenchError("a gateway said \(unexpected.prefix(200))")
            }
            guard store.clock.now < end else {
                throw BenchError("\(crowd.caughtUp) of \(crowd.count) listeners caught up")
            }
            try await store.clock.sleep(for: .milliseconds(20))
        }
    }

    private func resident(_ gateways: [Running]) throws -> Double {
        try gateways.reduce(0) { $0 + (try $1.process.residentKiB("RssAnon")) }
    }

    /// Somebody who is told of each event and does nothing; nil where there is no redis-cli.
    private func floorReader() async throws -> ChildProcess? {
        guard let program = Programs.installed("redis-cli") else { return nil }
        let layout = try await StoreLayout.agreed(on: store.client, namespace: BenchStore.namespace)
        let words = [program, "-u", redisURL, "SUBSCRIBE", layout.watchKeys.recordedChannel]
        // Its own end is that of the shell that it becomes.
        return try ChildProcess("/bin/sh", ["-c", "exec \"$@\" > /dev/null", "sh"] + words)
    }

    /// Measures a span, once the load has settled.
    private func load(
        _ settling: Duration,
        _ handler: BenchHandler,
        _ crowd: Crowd,
        _ gateways: [Running],
        _ floor: ChildProcess?
    ) async throws -> Load {
        try await store.clock.sleep(for: settling)
        func cpu() throws -> Double {
            try gateways.reduce(0) { $0 + (try $1.process.cpuSeconds()) }
        }
        func floorCPU() throws -> Double? {
            try floor.flatMap { $0.hasDied ? nil : try ProcessCPU.seconds(of: $0.pid) }
        }
        func counts() -> (Int, Int) {
            handler.tally.withLock { ($0.polls, $0.starts.count) }
        }
        crowd.forget()
        let (events, heardEvents) = counts()
        let (own, redis, bare) = (try cpu(), try await store.cpu(), try floorCPU())
        let began = store.clock.now
        try await store.clock.sleep(for: max(plan.span, Self.interval))
        let (later, heardLater) = counts()
        let news = crowd.news
        return Load(
            seconds: began.duration(to: store.clock.now) / .seconds(1),
            events: Double(later - events),
            heardEvents: Double(heardLater - heardEvents),
            frames: Double(news.frames),
            gatewayCPU: try cpu() - own,
            redisCPU: try await store.cpu() - redis,
            floorCPU: try floorCPU().flatMap { now in bare.map { now - $0 } },
            toFrame: news.toFrameUs.latency
        )
    }

    private func add(
        _ quiet: Load,
        _ unheard: Load,
        _ one: Load,
        _ many: Load,
        _ report: inout BenchReport
    ) {
        let idle = quiet.gatewayCPU / quiet.seconds
        let count = Double(gatewayCount)
        // What a gateway pays for an event before anybody hears it.
        let happened = (unheard.gatewayCPU - idle * unheard.seconds) / unheard.events
        func heard(_ load: Load) -> Double {
            load.gatewayCPU - idle * load.seconds - happened * load.events
        }
        report.add(
            "  CPU of a gateway while nothing happens",
            "idle_ms_per_s",
            idle / count * 1e3,
            "ms/s"
        )
        report.add("events nobody hears", "unheard_per_s", unheard.events / unheard.seconds, "/s")
        report.add("  CPU of a gateway an event", "unheard_event_us", happened / count * 1e6, "µs")
        if let floor = unheard.floorCPU {
            let us = floor / unheard.events * 1e6
            report.add("  of redis-cli, which only reads the news", "floor_event_us", us, "µs")
        }
        report.add(
            "  Redis CPU an event, recording it included",
            "redis_event_us",
            unheard.redisCPU / unheard.events * 1e6,
            "µs"
        )
        report.add("a tenth heard by one each", "one_frames_per_s", one.frames / one.seconds, "/s")
        report.add(
            "  more CPU an event heard",
            "heard_event_us",
            heard(one) / one.frames * 1e6,
            "µs"
        )
        report.add("  recorded to frame", "one_to_frame_ms", one.toFrame)
        let each = many.frames / many.heardEvents
        report.add(
            "a tenth heard by many each",
            "many_frames_per_s",
            many.frames / many.seconds,
            "/s"
        )
        report.add("  frames an event heard", "frames_an_event", each, "")
        report.add("  more CPU a frame", "frame_us", heard(many) / many.frames * 1e6, "µs")
        report.add("  recorded to frame", "many_to_frame_ms", many.toFrame)
    }
}
