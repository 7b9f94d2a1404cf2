/// How a ``LeaseWorker`` works.
package struct LeaseWorkerSettings: Sendable {
    /// This process; random for each start.
    package let owner: OwnerID
    /// Items in hand at once.
    package let concurrency: Int
    /// How long a claimed item is ours: longer than the handler's longest attempt.
    package let lease: Duration
    /// The limit of lanes that have none of their own.
    package let lane: LaneLimit
    /// How long running handlers may go on after a graceful shutdown began.
    package let drainTimeout: Duration
    /// How far before its time an item may be claimed, to start from a local timer.
    package let ahead: Duration

    /// Sets how a loop works.
    package init(
        owner: OwnerID,
        concurrency: Int,
        lease: Duration,
        lane: LaneLimit,
        drainTimeout: Duration,
        ahead: Duration = .milliseconds(40)
    ) {
        self.owner = owner
        self.concurrency = concurrency
        self.lease = lease
        self.lane = lane
        self.drainTimeout = drainTimeout
        self.ahead = ahead
    }
}
