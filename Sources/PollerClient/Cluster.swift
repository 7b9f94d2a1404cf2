import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// Counts of watches and deliveries.
    public func stats() async throws -> Stats {
        try await send(.GET, "/v1/stats").decoded(Stats.self)
    }

    /// Lets the server check what it depends on; takes up to 10 s.
    public func health() async throws -> HealthReport {
        try await send(.GET, "/v1/doctor").decoded(HealthReport.self)
    }
}

extension PollerClient {
    /// The processes that work on the cluster, all in one page.
    public func workers() async throws -> Page<Worker> {
        try Page(try await send(.GET, "/v1/workers"), Worker.init(json:))
    }

    /// Tells when a watch is polled next and what it waits for.
    public func explain(_ name: WatchName) async throws -> WatchExplanation {
        let answer = try await send(.GET, name.path + "/explain", query: name.query)
        guard let explanation = WatchExplanation(json: answer.text) else {
            throw PollerError.unintelligible(
                "the answer is not an explanation: check the URL and the server's version"
            )
        }
        return explanation
    }
}

extension PollerClient {
    /// A page of the watches that a person must look at, in the order in which they were closed;
    /// their `lastError` says why.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func quarantine(
        account: String? = nil,
        kind: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Watch> {
        let query: [(String, String?)] = [
            ("account", account), ("kind", kind), ("limit", String(limit)), ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/quarantine", query: query), Watch.init(json:))
    }

    /// Watches a quarantined source again, with the span it had at first.
    @discardableResult
    public func redrive(_ name: WatchName) async throws -> Watch {
        let path = "/v1/quarantine/\(Self.percentEncoded(name.source))/redrive"
        let answer = try await send(.POST, path, query: name.query)
        guard let watch = Watch(json: answer.text) else {
            throw PollerError.unintelligible(
                "the answer is not a watch: check the URL and the server's version"
            )
        }
        return watch
    }
}

/// How much of what the server's two queues hold, and how the cluster stands.
public struct Stats: Hashable, Sendable, Codable {
    /// The queue of polls.
    public let watches: Counts
    /// The queue of notifications.
    public let deliveries: Counts
    /// The lanes of watches by state; nil from a server before they were counted.
    public let lanes: Lanes?
    /// How long the longest overdue watch has been due, in ms.
    public let oldestOverdueMs: Int?
    /// Watches that a person must look at.
    public let quarantined: Int?
    /// Processes that poll.
    public let workers: Int?
    /// Processes that deliver.
    public let notifiers: Int?

    enum CodingKeys: String, CodingKey {
        case watches, deliveries, lanes, quarantined, workers, notifiers
        case oldestOverdueMs = "oldest_overdue_ms"
    }

    /// How much one queue holds.
    public struct Counts: Hashable, Sendable, Codable {
        /// Waiting for their due time or their lane.
        public let pending: Int
        /// Of those, due already.
        public let overdue: Int
        /// Held by a process.
        public let leased: Int
        /// Closed and still kept for readers.
        public let closed: Int
        /// Events in the outbox.
        public let outbox: Int
        /// Events of the outbox that are not marked for delivery yet.
        public let undelivered: Int
        /// Lanes with something in them.
        public let lanes: Int
    }

    /// How many lanes are in which state.
    public struct Lanes: Hashable, Sendable, Codable {
        /// Lanes that hold something or have settings of their own.
        public let total: Int
        /// Stopped by a person.
        public let paused: Int
        /// Stopped because the upstream does not answer.
        public let open: Int
        /// Tried by one poll at a time after that.
        public let probing: Int
        /// Stopped until an instant the upstream named.
        public let held: Int
        /// At a part of their limit after a 429.
        public let slowed: Int
        /// As they should be.
        public let flowing: Int
        /// False when there are more lanes than were counted.
        public let complete: Bool
    }
}

/// A process that works on the cluster, as it announced itself last.
public struct Worker: Hashable, Sendable {
    /// As ``WatchExplanation`` names the holder of a watch; new at each start.
    public let id: String
    /// `worker`, `notifier`, `api`: one or more.
    public let roles: [String]
    /// The machine's name.
    public let host: String
    /// The operating system's process id.
    public let pid: Int
    /// The version it runs.
    public let version: String
    /// When it started.
    public let startedAt: Date
    /// Items in its hands.
    public let inFlight: Int
    /// The process as the server sent it.
    public let json: String

    /// Reads a process; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let startedAt = Date(wireTime: wire.startedAt)
        else { return nil }
        id = wire.id
        roles = wire.roles
        host = wire.host
        pid = wire.pid
        version = wire.version
        self.startedAt = startedAt
        inFlight = wire.inFlight
        self.json = json
    }

    private struct Wire: Decodable {
        let id: String
        let roles: [String]
        let host: String
        let pid: Int
        let version: String
        let startedAt: String
        let inFlight: Int

        enum CodingKeys: String, CodingKey {
            case id, roles, host, pid, version
            case startedAt = "started_at"
            case inFlight = "in_flight"
        }
    }
}

/// What the server's checks of its surroundings saw.
public struct HealthReport: Hashable, Sendable, Codable {
    /// Whether no check failed.
    public let healthy: Bool
    /// One for each thing the server depends on.
    public let checks: [Check]

    /// What one check saw.
    public struct Check: Hashable, Sendable, Codable {
        /// Short and stable: `redis.version`, `smtp`.
        public let name: String
        /// `ok`, `warning` or `failed`.
        public let status: String
        /// What was seen.
        public let message: String
        /// What to do about it; nil when nothing is to be done.
        public let action: String?
    }
}

/// When a watch is polled next and what it waits for.
public struct WatchExplanation: Hashable, Sendable {
    /// The upstream's id.
    public let source: String
    /// The account at the upstream.
    public let account: String
    /// `waiting`, `leased` or `closed`.
    public let place: String
    /// When it is due; nil unless it waits.
    public let dueAt: Date?
    /// Watches of its lane to be served before it; nil unless it waits.
    public let ahead: Int?
    /// The process that has claimed it; nil unless it is leased.
    public let owner: String?
    /// When it can be polled at the earliest, as far as is known now.
    public let earliestPollAt: Date?
    /// What it waits for, one sentence each, the most important first.
    public let reasons: [String]
    /// Workers in a row that vanished with it in hand.
    public let crashes: Int
    /// The explanation as the server sent it, the lane included.
    public let json: String

    /// Reads an explanation; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)) else {
            return nil
        }
        source = wire.source
        account = wire.account
        place = wire.place
        dueAt = wire.dueAt.flatMap(Date.init(wireTime:))
        ahead = wire.ahead
        owner = wire.owner
        earliestPollAt = wire.earliestPollAt.flatMap(Date.init(wireTime:))
        reasons = wire.reasons
        crashes = wire.crashes
        self.json = json
    }

    private struct Wire: Decodable {
        let source: String
        let account: String
        let place: String
        let dueAt: String?
        let ahead: Int?
        let owner: String?
        let earliestPollAt: String?
        let reasons: [String]
        let crashes: Int

        enum CodingKeys: String, CodingKey {
            case source, account, place, ahead, owner, reasons, crashes
            case dueAt = "due_at"
            case earliestPollAt = "earliest_poll_at"
        }
    }
}
