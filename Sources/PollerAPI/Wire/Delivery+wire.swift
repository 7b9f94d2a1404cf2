import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches
import PollerWire

extension PollerWire.Delivery {
    /// Creates the API representation of a delivery.
    ///
    /// `lane` is the state of its endpoint, `name` is the endpoint's name, and `lastAttempt` is the time of the last
    /// attempt.
    init(
        _ snapshot: DeliverySnapshot,
        lane: LaneReport? = nil,
        name: String? = nil,
        lastAttempt: Timestamp? = nil
    ) {
        let (watch, progress) = (snapshot.delivery.watch, snapshot.delivery.state)
        self.init()
        id = snapshot.id.description
        endpoint = snapshot.delivery.endpoint.description
        endpointName = name
        url = snapshot.delivery.url?.description
        account = watch.account.description
        source = watch.source.description
        kind = Open(rawValue: watch.kind.rawValue)
        state = Open(rawValue: snapshot.state.rawValue)
        lastSeq = progress.cursor
        failures = progress.failures
        attempts = progress.attempts
        deadSeqs = progress.dead
        retryingSeqs = progress.again
        failingSince = progress.failedSince.map { Time($0) }
        nextAttemptAt = snapshot.nextAttempt(lane).map { Time($0) }
        // A dismissed error is no longer shown.
        lastError = snapshot.state == .done ? nil : snapshot.lastError
        lastAttemptAt = lastAttempt.map { Time($0) }
        givenUpAt = snapshot.givenUpAt.map { Time($0) }
        endpointHealth = lane.map { EndpointHealth($0) }
    }
}

extension DeliverySnapshot {
    /// Returns the due time, not before the endpoint's hold ends; `nil` for a delivery that is inactive or in flight.
    func nextAttempt(_ lane: LaneReport?) -> Timestamp? {
        guard case .waiting(let due) = queueState, lane?.isPaused != true else { return nil }
        return max(due, lane?.heldUntil ?? due)
    }
}

extension PollerWire.EndpointHealth {
    init(_ lane: LaneReport) {
        self.init()
        circuit = Open(rawValue: lane.circuit.rawValue)
        heldUntil = lane.currentHoldEnd.map { Time($0) }
        failures = lane.failures
        failure = lane.lastFailure.map { Open($0.wire) }
        failingSince = lane.failingSince.map { Time($0) }
        disabledAtTheLatest = lane.failingSince.map { Time($0 + EndpointVerdict.patience) }
        isPaused = lane.isPaused
        waiting = lane.waiting
        inFlight = lane.inFlight
    }
}

extension DeliveryAttempt {
    /// Creates the API representation of an attempt.
    init(_ record: AttemptRecord) {
        self.init()
        at = Time(record.at)
        event = record.event?.description ?? ""
        seq = record.seq
        number = record.number
        outcome = Open(rawValue: record.outcome.rawValue)
        kind = Open(rawValue: record.kind.rawValue)
        code = record.code
        address = record.address
        spans.resolve = record.phases.resolveMs
        spans.connect = record.phases.connectMs
        spans.firstByte = record.phases.firstByteMs
        spans.total = record.phases.totalMs
        reason = record.reason.isEmpty ? nil : record.reason
        excerpt = record.excerpt.isEmpty ? nil : record.excerpt
    }
}

extension EndpointTest {
    /// Creates the result of a test delivery.
    init(_ result: AttemptResult) {
        self.init()
        isDelivered = result.outcome == .delivered
        kind = result.kind.rawValue
        code = result.code
        address = result.address
        durationMs = result.phases.totalMs
        reason = result.reason.isEmpty ? nil : result.reason
        excerpt = result.excerpt.isEmpty ? nil : result.excerpt
    }
}

extension Replay {
    /// Creates the API representation of a job.
    init(_ job: ReplayJob) {
        self.init()
        endpoint = job.endpoint
        state = Open(rawValue: job.progress.rawValue)
        status = Open(rawValue: job.choice.rawValue)
        since = job.sinceMs.map { Time(ms: $0) }
        rate = job.rate
        isDryRun = job.isDryRun
        lookedAt = job.lookedAt
        matched = job.matched
        events = job.events
        busy = job.busy
        error = job.error
    }
}
