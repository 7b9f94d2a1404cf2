import JSONText
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches

/// Fails a case unless two values are equal.
func equal<Value: Equatable>(_ got: Value, _ wanted: Value, _ label: String) throws {
    if got != wanted {
        throw ConformanceFailure(message: "\(label): wanted \(wanted), got \(got)")
    }
}

/// A store under test with shorthands for the steps of nearly every case.
struct ConformanceBench: Sendable {
    static let anna = OwnerID(unchecked: "AAAAAAAAAAA")
    static let bert = OwnerID(unchecked: "BBBBBBBBBBB")
    static let lease = Duration.seconds(10)

    let harness: any StoreHarness

    var watches: any WatchStore { harness.watches }
    var outbox: any Outbox { harness.outbox }
    var suspects: any SuspectStore { harness.suspects }
    /// The stores that exist only on Redis.
    var redis: RedisHarness {
        get throws { try some(harness as? RedisHarness, "a store on Redis") }
    }
    var deliveries: any DeliveryQueue & DeliveryOperations & MarkWatermarkStore {
        harness.deliveries
    }

    // MARK: Expectations

    /// Fails unless a condition holds.
    func expect(_ holds: Bool, _ label: @autoclosure () -> String) throws {
        if !holds { throw ConformanceFailure(message: label()) }
    }

    /// Unwraps a value that must exist.
    func some<Value>(_ value: Value?, _ label: String) throws -> Value {
        guard let value else { throw ConformanceFailure(message: "\(label): missing") }
        return value
    }

    /// Fails unless an operation is rejected because an event does not follow the last one.
    func outOfOrder(_ label: String, _ operation: () async throws -> Void) async throws {
        do {
            try await operation()
        } catch StoreError.outOfOrder { return }
        throw ConformanceFailure(message: "\(label): was not rejected")
    }

    func advance(ms: Int) async throws { try await harness.advance(by: .milliseconds(ms)) }

    // MARK: Watches

    func key(
        _ source: String,
        account: String = "acct_a",
        kind: SourceKind = .source
    ) -> WatchKey {
        WatchKey("src_\(source)", of: AccountID(unchecked: account), kind: kind)
    }

    @discardableResult
    func enqueue(
        _ key: WatchKey,
        timeout: Duration = .seconds(3600),
        notify: [String] = []
    ) async throws -> EnqueueResult {
        let urls = try notify.map { try NotifyURL($0) }
        let new = try NewWatch(key: key, timeout: timeout, notify: urls)
        return try some(try await watches.enqueue([new]).first, "a result of enqueue")
    }

    /// Enqueues a new watch of the usual account and returns its key.
    func enqueued(_ source: String) async throws -> WatchKey {
        let key = key(source)
        try await enqueue(key)
        return key
    }

    func partition(of key: WatchKey) -> Int { harness.partition(of: key.lane) }

    /// Returns account names whose lanes share one partition.
    func accounts(_ count: Int) -> [String] {
        let home = partition(of: key("any", account: "acct_0"))
        let names = (0..<(count * 1000)).lazy.map { "acct_\($0)" }
        return Array(
            names.filter { partition(of: key("any", account: $0)) == home }.prefix(count)
        )
    }

    func claim(
        in partition: Int,
        limit: Int = 100,
        owner: OwnerID = anna,
        lease: Duration = lease,
        lane: LaneLimit = .unlimited,
        ahead: Duration = .zero
    ) async throws -> Claim<Watch> {
        try await watches.claim(
            ClaimRequest(
                partition: partition,
                limit: limit,
                owner: owner,
                lease: lease,
                lane: lane,
                ahead: ahead
            )
        )
    }

    /// Claims one watch of a partition.
    func takeOne(in partition: Int) async throws -> Lease<Watch> {
        try some(try await claim(in: partition, limit: 1).leases.first, "a lease")
    }

    /// Claims a watch that must be the only one due in its partition.
    func take(_ key: WatchKey, owner: OwnerID = anna) async throws -> Lease<Watch> {
        let claim = try await claim(in: partition(of: key), owner: owner)
        try equal(claim.leases.map(\.item.key), [key], "the watches due in the partition")
        return try some(claim.leases.first, "a lease")
    }

    /// Claims the due watches of a key's partition and returns them.
    func due(_ key: WatchKey, owner: OwnerID = anna) async throws -> [WatchKey] {
        try await claim(in: partition(of: key), owner: owner).leases.map(\.item.key)
    }

    func commit(
        _ lease: Lease<Watch>,
        _ verdict: Verdict,
        status: String? = nil,
        error: String? = nil,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false
    ) async throws -> CommitResult {
        let commit = poll(
            lease,
            verdict,
            status: status,
            error: error,
            signal: signal,
            isUrgent: isUrgent
        )
        return try some(try await watches.commit([commit]).first, "a result of commit")
    }

    /// Claims a watch that must be the only one due in its partition, and commits a poll.
    @discardableResult
    func handle(
        _ key: WatchKey,
        _ verdict: Verdict,
        status: String? = nil,
        error: String? = nil,
        isUrgent: Bool = false
    ) async throws -> CommitResult {
        let lease = try await take(key)
        return try await commit(lease, verdict, status: status, error: error, isUrgent: isUrgent)
    }

    /// Creates the commit of a poll; with a status it records a change.
    func poll(
        _ lease: Lease<Watch>,
        _ verdict: Verdict,
        status: String? = nil,
        error: String? = nil,
        signal: LaneSignal = .fine,
        isUrgent: Bool = false
    ) -> Commit<WatchChange> {
        var state = lease.item.state
        state.attempts += 1
        var event: Event?
        if let status {
            let status = SourceStatus(unchecked: status)
            state.status = status
            event = Event(
                lease.item,
                status: status,
                final: verdict == .close(.settled),
                object: RawJSON(unchecked: "{}"),
                polledAt: lease.claimedAt
            )
        }
        let change = WatchChange(state: state, event: event, lastError: error)
        return Commit(
            ref: lease.ref,
            verdict: verdict,
            change: change,
            signal: signal,
            isUrgent: isUrgent
        )
    }

    func snapshot(_ key: WatchKey) async throws -> WatchSnapshot {
        try some(try await watches.snapshot(of: key), "a snapshot of \(key.source)")
    }

    /// Enqueues a watch and records statuses for it, one poll each.
    func record(_ key: WatchKey, _ statuses: [String], notify: [String] = []) async throws {
        try await enqueue(key, notify: notify)
        for status in statuses {
            let lease = try await take(key)
            let result = try await commit(lease, .next(after: .zero), status: status)
            try equal(result, .done, "the commit of \(status)")
        }
    }

    /// Returns the first entries of the outbox in a watch's partition.
    func entries(of key: WatchKey) async throws -> [OutboxEntry] {
        try await outbox.entries(partition: partition(of: key), after: "0", limit: 10)
    }

    // MARK: Deliveries

    func mark(_ source: String, _ host: String = "a.example") throws -> DeliveryMark {
        DeliveryMark(url: try NotifyURL("https://\(host)/hook"), watch: key(source))
    }

    /// Marks a new delivery.
    func marked(_ source: String, _ host: String = "a.example") async throws -> DeliveryMark {
        let mark = try mark(source, host)
        try await deliveries.mark([mark])
        return mark
    }

    func claim(
        _ mark: DeliveryMark,
        limit: Int = 100,
        owner: OwnerID = anna,
        lane: LaneLimit = .unlimited
    ) async throws -> Claim<Delivery> {
        try await deliveries.claim(
            ClaimRequest(
                partition: harness.partition(of: LaneID(endpoint: mark.endpoint)),
                limit: limit,
                owner: owner,
                lease: Self.lease,
                lane: lane
            )
        )
    }

    /// Claims a delivery that must be the only one due in its partition.
    func take(_ mark: DeliveryMark, owner: OwnerID = anna) async throws -> Lease<Delivery> {
        let leases = try await claim(mark, owner: owner).leases
        try equal(leases.map(\.item.watch), [mark.watch], "the deliveries due in the partition")
        return try some(leases.first, "a lease")
    }

    func commit(
        _ lease: Lease<Delivery>,
        _ verdict: Verdict,
        _ state: DeliveryState
    ) async throws -> CommitResult {
        let change = DeliveryChange(state: state)
        let commit = Commit(ref: lease.ref, verdict: verdict, change: change)
        return try some(try await deliveries.commit([commit]).first, "a result of commit")
    }
}
