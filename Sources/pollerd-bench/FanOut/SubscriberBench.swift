import BenchPlan
import ChildPrograms
import PollerIdentity
import PollerNet
import PollerRedis
import PollerWatches
import Synchronization

/// Measures the cost of a hundred thousand subscribers for their gateways.
///
/// It gives the cost of an event without subscribers, of one with subscribers, and of a frame. The gateways are
/// separate processes. A worker in this process records ``BenchPlan/events`` a second under every load. So the
/// difference between two loads is the cost of delivery alone:
///
/// | load | events |
/// |---|---|
/// | quiet | there are none |
/// | unheard | none has a subscriber |
/// | one | a tenth has one subscriber each |
/// | many | a tenth has many subscribers each, together half of all subscribers |
///
/// The subscribers are in separate processes too (``SubscriberProcesses``), so their work is not measured. Each must receive its
/// events, each once and in order.
///
/// A `redis-cli` also subscribes to the outbox's notifications. It is a C program that only reads a line per event, so
/// its CPU is the cost of being woken.
struct SubscriberBench: Sendable {
    /// The interval between two events of a watch.
    private static let interval = Duration.seconds(5)
    /// A gateway's connections and files other than its clients.
    private static let otherFiles = 100
    private static let enterTimeout = Duration.seconds(600)

    let store: BenchStore
    let plan: BenchPlan
    let redisURL: String
    let gatewayCount: Int

    /// The number of sources that have events at a time.
    private var activeCount: Int { plan.events * Int(Self.interval.components.seconds) }
    /// The number of each kind of source with subscribers, a tenth of those with events.
    private var subscribedCount: Int { activeCount / 10 }

    /// A gateway process and its port.
    private struct Running {
        let port: Int
        let process: PollerdProcess
    }

    /// The counts of a span.
    private struct Load {
        let seconds: Double
        let events: Double
        let subscribedEvents: Double
        let frames: Double
        /// CPU seconds of all gateways, of Redis and of the `redis-cli`.
        let gatewayCPU: Double
        let redisCPU: Double
        let floorCPU: Double?
        let toFrame: BenchReport.Latency
        /// The delay of timers in the subscribers' processes.
        let late: BenchReport.Latency
    }

    func measure(_ report: inout BenchReport) async throws {
        let files = OpenFiles.raiseLimit() - Self.otherFiles
        let listeners = max(plan.watches, 2 * subscribedCount) + 1000
        guard listeners / plan.perSocket / gatewayCount < files else {
            throw BenchError(
                "a process may have \(files) sockets here: name more --gateways or a larger "
                    + "--per-socket, or raise the limit of open files"
            )
        }
        let gateways = try (0..<gatewayCount).map { _ in
            let port = try FreePort.find()
            let options = [
                "POLLER_GATEWAY_BIND": "127.0.0.1:\(port)",
                // All subscribers count as one client here.
                "POLLER_STREAMS_PER_KEY": "0",
            ]
            let process = try PollerdProcess("gateway", redisURL: redisURL, environment: options)
            return Running(port: port, process: process)
        }
        defer { for gateway in gateways { gateway.process.stop() } }
        var figures = BenchReport()
        try await measure(gateways, &figures)
        report.add(gatewayCount == 1 ? "crowd" : "crowd_of_\(gatewayCount)", figures)
        try await store.clear()
    }

    private func measure(_ gateways: [Running], _ report: inout BenchReport) async throws {
        let others = try store.keys(activeCount, prefix: "o")
        let byOne = try store.keys(subscribedCount, prefix: "h")
        let byMany = try store.keys(subscribedCount, prefix: "m")
        let each = max(plan.watches / 2 / subscribedCount, 1)
        let idle = max(plan.watches - subscribedCount * (1 + each), 0)
        let subscribedSources = Set((byOne + byMany).map(\.source))
        let active = Mutex<Set<SourceID>>([])
        let pace = BenchHandler.spread(over: Self.interval)
        let handler = BenchHandler(
            eventEvery: 1,
            counting: { subscribedSources.contains($0.key.source) },
            stamping: true,
            pace: { watch in
                active.withLock { $0.contains(watch.key.source) } ? pace(watch) : .seconds(3600)
            }
        )
        let subscribers = try SubscriberProcesses(
            byOne + byMany.flatMap { Array(repeating: $0, count: each) }
                + (try store.keys(idle, prefix: "q")),
            perSocket: plan.perSocket,
            ports: gateways.map(\.port)
        )
        defer { subscribers.leave() }
        try await enter(subscribers, gateways, &report)
        let floor = try floorReader()
        defer { floor?.kill() }

        let quiet = try await load(.zero, handler, subscribers, gateways, floor)
        var loads: [Load] = []
        try await store.withWorker(handler, concurrency: 1024) {
            for (new, part) in [
                (others, others), (byOne, others.dropLast(subscribedCount) + byOne),
                (byMany, others.dropLast(subscribedCount) + byMany),
            ] {
                active.withLock { $0 = Set(part.map(\.source)) }
                try await store.fill(new)
                let settling = Self.interval + .seconds(2)
                loads.append(try await load(settling, handler, subscribers, gateways, floor))
            }
            active.withLock { $0 = [] }
            try await store.clock.sleep(for: Self.interval + .seconds(2))
        }
        _ = try subscribers.caughtUp()
        add(quiet, loads[0], loads[1], loads[2], &report)
        let faults = try subscribers.faults(try await lastSeqs(of: byOne + byMany))
        report.addLoss("  frames lost", "frames_lost", faults.missing)
        let wrong = faults.repeated + faults.foreign
        report.addLoss("  duplicate, out of order or misdirected", "frames_wrong", wrong)
    }

    /// Returns the last `seq` of each watch that has events.
    private func lastSeqs(of keys: [WatchKey]) async throws -> [SourceID: Int] {
        var lastSeqs: [SourceID: Int] = [:]
        for key in keys {
            lastSeqs[key.source] = try await store.watches.snapshot(of: key)?.watch.seq
        }
        return lastSeqs
    }

    /// Connects the subscribers and measures their memory.
    private func enter(
        _ subscribers: SubscriberProcesses,
        _ gateways: [Running],
        _ report: inout BenchReport
    ) async throws {
        // The first connections create shared state: pools, tables, code.
        let first = try SubscriberProcesses(
            try store.keys(1000, prefix: "w"),
            perSocket: plan.perSocket,
            ports: gateways.map(\.port)
        )
        defer { first.leave() }
        try first.enter()
        try await wait(for: first)
        let before = try resident(gateways)
        let own = { try cpu(gateways) }
        let cost = try await store.cost(own: own) {
            try subscribers.enter()
            try await wait(for: subscribers)
        }
        let count = Double(subscribers.count)
        let title = gatewayCount == 1 ? "of one gateway" : "of \(gatewayCount) gateways"
        report.add("listeners \(title)", "listeners", count, "")
        report.add("  time until all have subscribed", "entered_s", cost.seconds, "s")
        report.add("  CPU of the gateways for one", "subscribe_us", cpu: cost.ownCPU / count)
        report.add("  Redis CPU for one", "subscribe_redis_us", cpu: cost.redisCPU / count)
        let each = (try resident(gateways) - before) / count
        let sockets = "  memory of one, \(plan.perSocket) a socket"
        report.add(sockets, "kib_per_listener", each, "KiB")
    }

    private func wait(for subscribers: SubscriberProcesses) async throws {
        let end = store.clock.now.advanced(by: Self.enterTimeout)
        while true {
            let caughtUp = try subscribers.caughtUp()
            guard caughtUp < subscribers.count else { return }
            guard store.clock.now < end else {
                throw BenchError("\(caughtUp) of \(subscribers.count) listeners caught up")
            }
            try await store.clock.sleep(for: .milliseconds(50))
        }
    }

    private func cpu(_ gateways: [Running]) throws -> Double {
        try gateways.reduce(0) { $0 + (try $1.process.cpuSeconds()) }
    }

    private func resident(_ gateways: [Running]) throws -> Double {
        try gateways.reduce(0) { $0 + (try $1.process.residentKiB("RssAnon")) }
    }

    /// Starts a program that receives each event and does nothing, or returns `nil` without `redis-cli`.
    private func floorReader() throws -> ChildProcess? {
        guard let program = Programs.installed("redis-cli") else { return nil }
        let channel = store.layout.watchKeys.recordedChannel
        let words = [program, "-u", redisURL, "SUBSCRIBE", channel]
        // The shell replaces itself with the program, so both end together.
        return try ChildProcess("/bin/sh", ["-c", "exec \"$@\" > /dev/null", "sh"] + words)
    }

    /// Measures a span after the load has settled.
    private func load(
        _ settling: Duration,
        _ handler: BenchHandler,
        _ subscribers: SubscriberProcesses,
        _ gateways: [Running],
        _ floor: ChildProcess?
    ) async throws -> Load {
        try await store.clock.sleep(for: settling)
        func floorCPU() throws -> Double? {
            try floor.flatMap { $0.hasDied ? nil : try ProcessCPU.seconds(of: $0.pid) }
        }
        func counts() -> (Int, Int) {
            handler.tally.withLock { ($0.polls, $0.starts.count) }
        }
        _ = try subscribers.received()
        let (events, subscribedEvents) = counts()
        let own = { try cpu(gateways) }
        let bare = try floorCPU()
        var (later, heardLater, received) = (0, 0, ReceivedFrames())
        let cost = try await store.cost(own: own) {
            try await store.clock.sleep(for: max(plan.span, Self.interval))
            (later, heardLater) = counts()
            received = try subscribers.received()
        }
        return Load(
            seconds: cost.seconds,
            events: Double(later - events),
            subscribedEvents: Double(heardLater - subscribedEvents),
            frames: Double(received.frames),
            gatewayCPU: cost.ownCPU,
            redisCPU: cost.redisCPU,
            floorCPU: try floorCPU().flatMap { now in bare.map { now - $0 } },
            toFrame: ReceivedFrames.latency(received.toFrameUs),
            late: ReceivedFrames.latency(received.lateUs)
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
        // The cost of an event for a gateway before any delivery.
        let happened = (unheard.gatewayCPU - idle * unheard.seconds) / unheard.events
        func deliveryCPU(_ load: Load) -> Double {
            load.gatewayCPU - idle * load.seconds - happened * load.events
        }
        report.add("  CPU of an idle gateway", "idle_ms_per_s", idle / count * 1e3, "ms/s")
        report.add("unsubscribed events", "unheard_per_s", unheard.events / unheard.seconds, "/s")
        report.add("  CPU of a gateway an event", "unheard_event_us", cpu: happened / count)
        if let floor = unheard.floorCPU.map({ $0 / unheard.events }) {
            report.add("  CPU of redis-cli reading the changes", "floor_event_us", cpu: floor)
        }
        let redis = unheard.redisCPU / unheard.events
        report.add("  Redis CPU an event, recording it included", "redis_event_us", cpu: redis)
        report.add("a tenth, one client each", "one_frames_per_s", one.frames / one.seconds, "/s")
        let more = deliveryCPU(one) / one.frames
        report.add("  additional CPU per received event", "heard_event_us", cpu: more)
        report.add("  recorded to frame", "one_to_frame_ms", one.toFrame)
        report.add("  timer delay of the listening processes", "one_late_ms", one.late)
        let (each, rate) = (many.frames / many.subscribedEvents, many.frames / many.seconds)
        report.add("a tenth, many clients each", "many_frames_per_s", rate, "/s")
        report.add("  frames per received event", "frames_an_event", each, "")
        report.add("  more CPU a frame", "frame_us", cpu: deliveryCPU(many) / many.frames)
        report.add("  recorded to frame", "many_to_frame_ms", many.toFrame)
        report.add("  timer delay of the listening processes", "many_late_ms", many.late)
    }
}
