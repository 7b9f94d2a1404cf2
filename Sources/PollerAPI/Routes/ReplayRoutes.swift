import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerWire
import ServiceLifecycle
import Synchronization

/// Replays of an endpoint's events, as a job with progress.
///
/// A replay examines up to a million deliveries, too many for one request. The job runs in the process that received
/// the request, and stores its progress. So any process can report it, and if the process dies, the store soon deletes
/// the job. The job only marks deliveries as due. The notifiers send them, in order and within limits. So an
/// interrupted job loses nothing: when it is started again, it marks the others. A repeat would start a finished job
/// once more, so its `Idempotency-Key` is stored. Each endpoint has at most one replay at a time, since two would
/// exceed each other's rate.
struct ReplayRoutes {
    private static let start = Route(
        .post,
        "/v1/endpoints/{endpoint}/replay",
        "startReplay",
        "Send an endpoint its dead letters again, or all events since a time",
        """
        A background job of this server; GET returns its progress. The notifiers send the events in order and \
        within the endpoint's limit.
        """,
        access: .key(.replay),
        input: .endpoint,
        idempotency: .kept,
        body: .json(.shape("NewReplay"), optional: true),
        answers: [.json(202, "The replay has started.", "Replay")],
        problems: [404, 409]
    )
    private static let get = Route(
        .get,
        "/v1/endpoints/{endpoint}/replay",
        "getReplay",
        "Read the progress of an endpoint's last replay",
        access: .key(.readDeliveries),
        input: .endpoint,
        answers: [.ok("The replay.", "Replay")],
        problems: [404]
    )

    let backend: APIBackend
    let runner: ReplayRunner
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [Self.start.answered(by: start), Self.get.answered(by: get)]
    }

    private func start(
        _ id: EndpointID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let wanted = try await wanted(request)
        let choice = try Self.choice(wanted)
        let since = try Self.since(wanted)
        guard choice == .dead || since != nil else {
            throw Problem.missing(
                "since",
                "is required for status all: set it to the time of the first event to send."
            )
        }
        let job = ReplayJob(
            endpoint: id,
            choice: choice,
            since: since,
            rate: wanted.rate ?? ReplayJob.rateStandard,
            isDryRun: wanted.isDryRun ?? false
        )
        let registered = try await registered(id, for: context.caller)
        let account = try await check(id, registered, for: context.caller)
        if let running = try await backend.deliveries.replay(of: id), running.progress == .running {
            throw Self.isRunning(id)
        }
        // The record follows, because it says that the replay runs.
        switch runner.reserve(job) {
        case .reserved: break
        case .isRunning: throw Self.isRunning(id)
        case .tooMany:
            throw Problem(
                .replayRunning,
                "\(ReplayRunner.runningMax) replays are running on this server already; "
                    + "wait until one has ended.",
                retryAfterSeconds: 10
            )
        }
        do {
            try await backend.deliveries.record(job)
        } catch {
            runner.release(job)
            throw error
        }
        runner.start(job, endpoint: registered)
        note(job, of: account, name: registered?.name, context)
        return Response(Replay(job), status: .accepted)
    }

    private static func isRunning(_ id: EndpointID) -> Problem {
        Problem(
            .replayRunning,
            "A replay of \(id) is running; GET its progress, and start another when it has ended."
        )
    }

    /// Records a replay in the audit trail.
    ///
    /// One that only counts changes nothing.
    private func note(
        _ job: ReplayJob,
        of account: AccountID,
        name: String?,
        _ context: APIContext
    ) {
        guard !job.isDryRun else { return context.changes.recordUnchanged() }
        let (status, rate) = (job.choice.rawValue, "\(job.rate)")
        var facts: KeyValuePairs<String, String> = ["status": status, "rate": rate]
        if let since = job.sinceMs.map(Timestamp.init(ms:)) {
            facts = ["status": status, "rate": rate, "since": "\(since)"]
        }
        let target = AuditTarget(.endpoint, job.endpoint, name: name)
        context.changes.recordAction(target, of: account, to: facts)
    }

    private func get(_ id: EndpointID, _ context: APIContext) async throws -> Response {
        if !context.caller.accounts.isAll {
            let registered = try await registered(id, for: context.caller)
            _ = try await check(id, registered, for: context.caller)
        }
        guard let job = try await backend.deliveries.replay(of: id) else {
            throw Problem(
                .replayNotFound,
                "\(id) has not been replayed within a week, or the server of the replay "
                    + "has stopped: start it again."
            )
        }
        return Response(Replay(job))
    }

    /// Returns the registered endpoint if the caller may access it.
    private func registered(
        _ id: EndpointID,
        for caller: Caller
    ) async throws -> PollerDeliveries.Endpoint? {
        try await backend.endpoints.store.read(id, of: caller.accounts)?.endpoint
    }

    /// Returns the account of an endpoint, or throws if the endpoint is missing or belongs to another account.
    ///
    /// An endpoint that is not registered is an inline URL, known only from its deliveries.
    private func check(
        _ id: EndpointID,
        _ registered: PollerDeliveries.Endpoint?,
        for caller: Caller
    ) async throws -> AccountID {
        if let registered {
            guard caller.accounts.contains(registered.account) else {
                throw Problem.endpointNotFound(id)
            }
            return registered.account
        }
        let query = DeliveryQuery(endpoint: id, accounts: caller.accounts, limit: 1)
        guard let found = try await backend.deliveries.deliveries(query).items.first else {
            throw Problem.endpointNotFound(id)
        }
        return found.delivery.watch.account
    }

    /// Reads the request.
    ///
    /// An empty body requests a replay of dead letters.
    private func wanted(_ request: Request) async throws -> ReplayRequest {
        let bytes = try await reader.read(request, bytesMax: BodyReader.singleBytesMax)
        if bytes.isEmpty { return ReplayRequest() }
        let json = try Problem.checkedJSON(bytes)
        try BodyReader.checkType(request, allowed: ["application/json"])
        return try Problem.reading(ReplayRequest.self, json)
    }

    private static func choice(_ wanted: ReplayRequest) throws(Problem) -> ReplayJob.Choice {
        guard let status = wanted.status else { return .dead }
        guard let choice = ReplayJob.Choice(rawValue: status.rawValue) else {
            let all = ReplayJob.Choice.allCases.map(\.rawValue).joined(separator: " or ")
            throw Problem.value("status", "must be \(all).")
        }
        return choice
    }

    private static func since(_ wanted: ReplayRequest) throws(Problem) -> Timestamp? {
        guard let since = wanted.since else { return nil }
        guard since.ms > 0 else {
            throw Problem.value("since", "must be a time such as 2026-11-20T09:30:00.125Z.")
        }
        return Timestamp(ms: since.ms)
    }
}

/// Runs the replays requested from this process.
///
/// Their progress is in the store, so that every process can report it.
///
/// A class, because routes pass jobs to the loop that runs them.
final class ReplayRunner: Sendable {
    /// The maximum concurrent replays.
    ///
    /// Each reads and changes some hundred deliveries per second.
    static let runningMax = 4

    private let replayer: Replayer
    private let jobs: AsyncStream<(ReplayJob, PollerDeliveries.Endpoint?)>
    private let incoming: AsyncStream<(ReplayJob, PollerDeliveries.Endpoint?)>.Continuation
    private let running = Mutex<Set<String>>([])

    init(replayer: Replayer) {
        self.replayer = replayer
        (jobs, incoming) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.runningMax)
        )
    }

    /// The result of ``reserve(_:)``.
    enum Reservation {
        case reserved
        /// A replay of the endpoint is running on this server.
        case isRunning
        /// As many replays as allowed are running on this server.
        case tooMany
    }

    /// Reserves a place for a job, which is then started or released.
    func reserve(_ job: ReplayJob) -> Reservation {
        running.withLock { running in
            if running.contains(job.endpoint) { return .isRunning }
            guard running.count < Self.runningMax else { return .tooMany }
            running.insert(job.endpoint)
            return .reserved
        }
    }

    /// Gives up the place of a job that was not started.
    func release(_ job: ReplayJob) { running.withLock { _ = $0.remove(job.endpoint) } }

    /// Starts a job that has a place.
    func start(_ job: ReplayJob, endpoint: PollerDeliveries.Endpoint?) {
        incoming.yield((job, endpoint))
    }

    /// Runs incoming jobs until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await (job, endpoint) in jobs {
                // Ends on completion, or is cancelled with this loop.
                group.addTask {
                    await self.replayer.run(job, endpoint: endpoint)
                    self.release(job)
                }
            }
            group.cancelAll()
        }
    }
}
