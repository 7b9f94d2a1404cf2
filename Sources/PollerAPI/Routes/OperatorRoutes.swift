import Hummingbird
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWire

/// Operator routes: statistics, processes and the doctor.
///
/// All three start with a status of the cluster, which ``ClusterStatusCache`` caches: many open dashboards must not
/// cost the store more than one. The doctor's checks run concurrently with a timeout each, since the result is most
/// important when something hangs.
struct OperatorRoutes {
    /// The timeout of a check, short because a person waits for the result.
    private static let checkTimeout = Duration.seconds(10)

    private static let stats = Route(
        .get,
        "/v1/stats",
        "stats",
        "Count watches and deliveries",
        access: .key(.readCluster),
        answers: [.ok("The counts.", "Stats")]
    )
    private static let history = Route<ActivitySpan?>(
        .get,
        "/v1/stats/history",
        "statsHistory",
        "Read the cluster's activity over time",
        """
        Recorded in the store, for clusters without a monitoring system: one value a minute for a day, or one an \
        hour for 90 days. The last ten seconds of a process that ended may be missing.
        """,
        access: .key(.readCluster),
        input: .choice("span", "The period. Default: a day."),
        answers: [.ok("The figures.", "StatsHistory")],
        problems: [404]
    )
    private static let workers = Route(
        .get,
        "/v1/workers",
        "listWorkers",
        "List the processes of the cluster",
        access: .key(.readCluster),
        answers: [.ok("All live processes, in one page.", "WorkerPage")]
    )
    private static let departures = Route(
        .get,
        "/v1/workers/departed",
        "listDepartedWorkers",
        "List the processes that left the cluster in the last day",
        """
        The latest first, at most a hundred. A process that shuts down leaves at once. A process that is killed, \
        crashes or loses the store is listed as lost six seconds after its last heartbeat, once another process \
        has checked. A process that recovers is in the list of workers again.
        """,
        access: .key(.readCluster),
        answers: [.ok("Every departure of the last 24 hours, in one page.", "DepartedWorkerPage")]
    )
    private static let doctor = Route(
        .get,
        "/v1/doctor",
        "doctor",
        "Check the server's dependencies",
        access: .key(.readCluster),
        answers: [.ok("The result of each check.", "Doctor")]
    )

    let backend: APIBackend
    let statusCache: ClusterStatusCache
    let clock: any Clock<Duration>

    private typealias Finding = (name: String, result: HealthResult)

    var routes: [AnsweredRoute] {
        [
            Self.stats.answered(by: stats), Self.history.answered(by: history),
            Self.workers.answered(by: workers), Self.departures.answered(by: departures),
            Self.doctor.answered(by: doctor),
        ]
    }

    private func stats(_: Void, _ context: APIContext) async throws -> Response {
        Response(Stats(try await statusCache.current()))
    }

    private func history(_ span: ActivitySpan?, _ context: APIContext) async throws -> Response {
        guard let activity = backend.activity else {
            throw Problem(.notFound, "This server has no history.")
        }
        return Response(StatsHistory(try await activity.history(span ?? .day)))
    }

    /// Lists the processes in one page, since a cluster has some tens of them.
    private func workers(_: Void, _ context: APIContext) async throws -> Response {
        let status = try await statusCache.current()
        let page = ListPage(items: status.members, next: nil)
        return Response(page.wire(for: context) { PollerWire.Worker($0) })
    }

    private func departures(_: Void, _ context: APIContext) async throws -> Response {
        let page = ListPage(items: try await backend.members.departures(), next: nil)
        return Response(page.wire(for: context) { DepartedWorker($0) })
    }

    /// Runs the doctor.
    ///
    /// The status is always 200, because failed checks are part of the result.
    private func doctor(_: Void, _ context: APIContext) async throws -> Response {
        Response(HealthReport(await findings()))
    }

    /// Runs all checks concurrently and returns their results in order, then those of the cluster status.
    ///
    /// If the store is unavailable, the result has one line about it, and the checks that do not need the store.
    private func findings() async -> [Finding] {
        var found: [Finding] = []
        for check in backend.checks where check.subject == .store {
            found += await inTime(check.name) { [(check.name, await check.run())] }
        }
        let isAway = found.contains { $0.result.status == .failed }
        let checks = backend.checks.filter {
            isAway ? $0.subject == .other : $0.subject != .store
        }
        return found + (await findings(of: checks, withCluster: !isAway))
    }

    private func findings(
        of checks: [any HealthCheck],
        withCluster: Bool
    ) async -> [Finding] {
        await withTaskGroup(of: (Int, [Finding]).self) { group in
            for (index, check) in checks.enumerated() {
                // Concurrently, so that hanging checks cost a single timeout: `inTime` ends each.
                group.addTask {
                    (index, await inTime(check.name) { [(check.name, await check.run())] })
                }
            }
            // In parallel with the checks, with the same timeout.
            if withCluster {
                group.addTask { (checks.count, await inTime("cluster", cluster)) }
            }
            var findings: [Int: [Finding]] = [:]
            for await (index, found) in group { findings[index] = found }
            return (0...checks.count).flatMap { findings[$0] ?? [] }
        }
    }

    private func cluster() async -> [Finding] {
        do {
            let status = try await statusCache.current()
            let failures = try await DeliveryFailures(backend.deliveries, stats: status.deliveries)
            var health = ClusterHealth(status: status, failures: failures)
            if status.deliveries.circuitsOpen > 0 {
                // Stopped lanes come first.
                health.down = try await backend.deliveries.lanes(limit: 20, cursor: nil).items
                    .filter { $0.circuit != .closed && !$0.isPaused }
                    .map { "\($0.lane) (\($0.lastFailure.phrase))" }
            }
            health.unauthorized = try await UnauthorizedWatches(backend.watches)
            return health.results
        } catch {
            let action = "check that Redis is running and POLLER_REDIS_URL is correct"
            return [("cluster", HealthResult.failed("\(error)", action: action))]
        }
    }

    private func inTime(
        _ name: String,
        _ check: @escaping @Sendable () async -> [Finding]
    ) async -> [Finding] {
        await withTaskGroup(of: [Finding].self) { group in
            group.addTask { await check() }
            group.addTask { [clock] in
                // Cancelled: the check finished first, and this result is not used.
                try? await clock.sleep(for: Self.checkTimeout)
                let late = HealthResult.failed(
                    "did not answer within \(Self.checkTimeout.text)",
                    action: "Check that the dependency is reachable from the API's machine."
                )
                return [(name, late)]
            }
            defer { group.cancelAll() }
            return await group.next() ?? []
        }
    }
}
