/// How much of what the server's two queues hold.
public struct Stats: Hashable, Sendable, Codable {
    /// The queue of polls.
    public let watches: Counts
    /// The queue of notifications.
    public let deliveries: Counts

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
}
