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
