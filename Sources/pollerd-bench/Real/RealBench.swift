import BenchPlan
import PollerIdentity
import PollerWatches

/// Measures the cost of a poll for a real `pollerd worker` process with an independent upstream.
///
/// Its CPU is the system's count of that process, and its polls are counted by its metrics. nginx's count of requests
/// must agree with them. Redis has its append-only file. The load is open: each watch is due once, at a random time of
/// the span, and then not for a long time. So the load does not depend on the speed. Polls observe the known status, as
/// nearly every poll does, except under the loads of changes. There each poll observes that a pending source has become
/// chargeable. It is recorded and published, and its watch stays open.
struct RealBench: Sendable {
    /// The time after the span, so that due watches do not run out before the measurement ends.
    static let reserve = Duration.seconds(1)
    private static let polls = "poller_polls_total"
    private static let changes = "poller_changes_total"

    let store: BenchStore
    let plan: BenchPlan
    let redisURL: String
    let sandboxURL: String

    func measure(_ report: inout BenchReport) async throws {
        let upstream = try await BenchUpstream.start(otherwise: sandboxURL)
        defer { upstream.stop() }
        let peer = try peerBench(upstream)
        var (real, asynq) = (BenchReport(), BenchReport())
        real.add("upstream", "upstream", upstream.name)
        for load in plan.realLoads.map(RealLoad.init) {
            if load.isTLS, upstream.nginx?.secured == nil {
                let why = "not measured: needs nginx, openssl and unshare"
                real.note(load.title, why)
                continue
            }
            if load.isChanging || load.held != nil, upstream.nginx == nil {
                real.note(load.title, "not measured: needs nginx")
                continue
            }
            if load.held != nil, let server = upstream.nginx {
                real.add(load.name, try await weigh(load, server, upstream))
            } else {
                var figures = try await measure(load, upstream)
                if load.rate == nil, let library = plan.allocationLibrary {
                    let counter = try AllocationCounter(library: library)
                    figures.add(try await measure(load, upstream, counter: counter))
                }
                real.add(load.name, figures)
                if !load.isChanging, let peer { asynq.add(load.name, try await peer.measure(load)) }
            }
        }
        if peer != nil { real.add("asynq", asynq) }
        report.add("real", real)
        if plan.measuresFloor, let server = upstream.nginx {
            let floor = try await ClientFloor(plan: plan, server: server).measure()
            report.add("floor", floor)
        }
    }

    /// Returns the measurement of the plan's peer, or `nil` without one.
    private func peerBench(_ upstream: BenchUpstream) throws -> PeerBench? {
        guard let program = plan.peerProgram else { return nil }
        guard let server = upstream.nginx else { throw BenchError("--peer needs nginx") }
        return PeerBench(
            store: store,
            plan: plan,
            redisURL: redisURL,
            server: server,
            program: program
        )
    }

    /// Measures one load, or with a counter only its allocations, because counting takes time.
    func measure(
        _ load: RealLoad,
        _ upstream: BenchUpstream,
        counter: AllocationCounter? = nil
    ) async throws -> BenchReport {
        try await store.fillFar(load.pending, lanes: load.accounts)
        let span = load.warmUp + plan.span + Self.reserve
        let count = load.rate.map { $0 * Int(span / .seconds(1)) } ?? plan.watches
        let keys = try await upstream.sources(count, accounts: load.accounts, store: store)
        let due = try await enqueueStaggered(
            keys,
            load,
            over: load.rate == nil ? .zero : span,
            upstream
        )
        let requests = try await upstream.requests()
        var workers: [PollerdProcess] = []
        defer { for worker in workers { worker.stop() } }
        for _ in 0..<load.workers {
            workers.append(
                try PollerdProcess(
                    "worker",
                    redisURL: redisURL,
                    environment: environment(load, upstream)
                        .merging(counter?.environment ?? [:]) { $1 },
                    trusting: load.isTLS ? upstream.nginx?.secured?.authority : nil
                )
            )
        }
        if store.clock.now > due {
            throw BenchError("\(load.name): no worker was ready in time; is the machine busy?")
        }
        try await store.clock.sleep(until: due.advanced(by: load.warmUp))
        let before = try await readCounts(workers, counter)
        if load.rate == nil {
            try await waitUntilMostPolled(workers, count)
        } else {
            try await store.clock.sleep(for: plan.span)
        }
        let after = try await readCounts(workers, counter)
        let measured = try report(load, before, after)
        try await compare(load, requests, count, workers, upstream)
        for worker in workers { worker.stop() }
        try await store.clear()
        return measured
    }

    /// Measures a worker's memory while its polls wait for responses.
    private func weigh(
        _ load: RealLoad,
        _ server: NginxServer,
        _ upstream: BenchUpstream
    ) async throws -> BenchReport {
        // Enough for three rounds. The first one opens the connections.
        let keys = try await upstream.sources(3 * (load.held ?? 0), accounts: 1, store: store)
        let due = try await enqueueStaggered(keys, load, over: .zero, upstream)
        let worker = try PollerdProcess(
            "worker",
            redisURL: redisURL,
            environment: environment(load, upstream)
        )
        defer { worker.stop() }
        var (held, resident) = (0, 0.0)
        let end = due.advanced(by: .seconds(12))
        while store.clock.now < end {
            try await store.clock.sleep(for: .milliseconds(200))
            held = max(held, try await server.writing())
            resident = max(resident, try worker.residentKiB())
        }
        worker.stop()
        try await store.clear()
        var report = BenchReport()
        report.add(load.title, "in_flight", Double(held), "at most")
        report.add("  worker's memory", "worker_resident_mib", resident / 1024, "MiB")
        return report
    }

    /// Enqueues watches that have been polled and are next due within a span, and returns the start of the span.
    ///
    /// The worker of this process polls each once, which takes time, so the span starts later.
    private func enqueueStaggered(
        _ keys: [WatchKey],
        _ load: RealLoad,
        over span: Duration,
        _ upstream: BenchUpstream
    ) async throws -> ContinuousClock.Instant {
        var first: FirstPollState?
        if let server = upstream.nginx, let key = keys.first {
            // The measured polls report an upstream that fails.
            first = try? await FirstPollState(of: key, at: server.url)
        }
        let began = store.clock.now
        // After a change the policy starts again. A patient watch is then due after the measurement.
        try await store.fill(keys, policy: load.isChanging ? .patient : .auto)
        // Polling takes three to four times as long as enqueueing, and a worker starts within a second.
        let now = store.clock.now
        let preparing = began.duration(to: now) * 8 + .milliseconds(5000 + 500 * load.workers)
        let due = now.advanced(by: preparing)
        let handler = SteadyHandler(
            due: due,
            offsets: DueOffsets(keys, over: span, isRandom: plan.random),
            first: first
        )
        try await store.withWorker(handler, concurrency: 1024) {
            while handler.count < keys.count {
                try await store.clock.sleep(for: .milliseconds(20))
                if store.clock.now > due { throw BenchError("preparing takes too long") }
            }
        }
        return due
    }

    private func environment(_ load: RealLoad, _ upstream: BenchUpstream) -> [String: String] {
        let concurrency = String(load.held ?? plan.concurrency)
        var environment = [
            "STRIPE_API_KEY": "sk_test_bench",
            "POLLER_STRIPE_API_BASE": upstream.url(for: load),
            // Other reads would be counted as requests.
            "POLLER_STRIPE_SWEEP": "off",
            "POLLER_WORKER_CONCURRENCY": concurrency,
        ]
        if !load.isLimited {
            environment["POLLER_LANE_RATE"] = "0"
            environment["POLLER_LANE_CONCURRENCY"] = concurrency
        }
        return environment
    }

    /// Waits for the span, or until nine tenths are polled, because the rest is no saturation.
    private func waitUntilMostPolled(_ workers: [PollerdProcess], _ count: Int) async throws {
        let end = store.clock.now.advanced(by: plan.span)
        while store.clock.now < end {
            try await store.clock.sleep(for: .milliseconds(50))
            if try await polls(workers) * 10 >= count * 9 { return }
        }
    }

    /// Rejects the result if the workers' poll count differs from the upstream's request count.
    ///
    /// At a sustained rate all watches are polled soon after the span, and the counts are equal. Otherwise only one
    /// side counts the requests in flight.
    private func compare(
        _ load: RealLoad,
        _ before: Int?,
        _ count: Int,
        _ workers: [PollerdProcess],
        _ upstream: BenchUpstream
    ) async throws {
        guard let before else { return }
        let end = store.clock.now.advanced(by: Self.reserve + .seconds(5))
        while load.rate != nil, store.clock.now < end, try await polls(workers) < count {
            try await store.clock.sleep(for: .milliseconds(50))
        }
        let polled = try await polls(workers)
        guard let after = try await upstream.requests() else { return }
        let isDone = load.rate != nil && polled >= count
        let slack = isDone ? max(polled / 200, 1) : plan.concurrency
        guard abs(after - before - polled) <= slack else {
            throw BenchError(
                "\(load.name): the workers count \(polled) polls, nginx \(after - before) requests"
            )
        }
    }

    /// Returns the number of polls so far.
    private func polls(_ workers: [PollerdProcess]) async throws -> Int {
        var polls = 0.0
        for worker in workers { polls += try await worker.metrics().total(Self.polls) }
        return Int(polls)
    }

    /// All counts at one time.
    private struct Counts: Sendable {
        let at: ContinuousClock.Instant
        let metrics: ProcessMetrics
        let workerCPU: Double
        let redisCPU: Double
        let residentKiB: Double
        let allocations: Double?
    }

    private func readCounts(
        _ workers: [PollerdProcess],
        _ counter: AllocationCounter?
    ) async throws -> Counts {
        var metrics = ProcessMetrics("")
        for worker in workers { metrics.add(try await worker.metrics()) }
        return Counts(
            at: store.clock.now,
            metrics: metrics,
            workerCPU: try workers.reduce(0) { $0 + (try $1.cpuSeconds()) },
            redisCPU: try await store.cpu(),
            residentKiB: try workers.map { try $0.residentKiB() }.max() ?? 0,
            allocations: try counter?.count()
        )
    }

    private func report(_ load: RealLoad, _ before: Counts, _ after: Counts) throws -> BenchReport {
        func polls(_ pair: String? = nil) -> Double {
            after.metrics.total(Self.polls, pair) - before.metrics.total(Self.polls, pair)
        }
        let (all, seen) = (polls(), polls("result=\"observed\""))
        if load.rate == nil, before.at.duration(to: after.at) < .milliseconds(300) {
            throw BenchError("\(load.name): all are polled too soon; give more --watches")
        }
        guard all > 0, seen == all else {
            throw BenchError("\(load.name): \(Int(all - seen)) polls of \(Int(all)) failed")
        }
        let changes = after.metrics.total(Self.changes) - before.metrics.total(Self.changes)
        // Both are counted at slightly different times of a poll.
        let expected = load.isChanging ? all : 0
        guard abs(changes - expected) <= Double(load.isChanging ? plan.concurrency : 0) else {
            throw BenchError("\(load.name): \(Int(changes)) of \(Int(all)) polls saw a change")
        }
        var report = BenchReport()
        if let first = before.allocations, let last = after.allocations {
            // The requests for metrics are a few hundred.
            report.add("  allocations a poll", "allocations", (last - first) / all, "")
            return report
        }
        let seconds = before.at.duration(to: after.at) / .seconds(1)
        report.add(load.title, "polls_per_s", all / seconds, "/s")
        let worker = (after.workerCPU - before.workerCPU) / all
        report.add("  worker CPU a poll", "worker_cpu_us", cpu: worker)
        let redis = (after.redisCPU - before.redisCPU) / all
        report.add("  Redis CPU a poll", "redis_cpu_us", cpu: redis)
        let lag = after.metrics.latency("poller_due_lag_seconds", since: before.metrics)
        report.add(load.rate == nil ? "  overdue" : "  due lag", "due_lag_ms", lag)
        report.add("  worker's memory", "worker_resident_mib", after.residentKiB / 1024, "MiB")
        return report
    }
}
