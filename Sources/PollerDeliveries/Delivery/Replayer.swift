package import PollerIdentity
package import PollerOperations
import PollerQueue
package import PollerWatches

/// Sends an endpoint's dead letters again, or everything since an instant.
///
/// It only changes the states of deliveries. The notifiers send the events, at the endpoint's own rate and in order. A
/// delivery that is being attempted is checked again a little later. After a crash the changed deliveries stay changed.
/// The job can be requested again: events that were accepted since are no longer dead letters.
package struct Replayer: Sendable {
    /// The number of deliveries that are read and changed in one operation.
    private static let batch = 50
    /// The number of checks of a leased delivery; an attempt takes at most 30 s.
    private static let roundsMax = 40
    private static let pause = Duration.seconds(1)
    /// The maximum wait between two records of the progress.
    ///
    /// A record expires after three minutes.
    private static let recordInterval = Duration.seconds(60)

    private let watches: any WatchStore
    private let outbox: any Outbox
    private let deliveries: any DeliveryQueue & DeliveryOperations
    private let suspects: PoisonGuard
    private let clock: any Clock<Duration>

    /// Creates a replayer on these stores, paced by `clock`; `suspects` sets aside a replay that crashes its processes.
    package init(
        watches: any WatchStore,
        outbox: any Outbox,
        deliveries: any DeliveryQueue & DeliveryOperations,
        suspects: PoisonGuard = .none,
        clock: any Clock<Duration>
    ) {
        self.watches = watches
        self.outbox = outbox
        self.deliveries = deliveries
        self.suspects = suspects
        self.clock = clock
    }

    /// Runs a job to its end and records its progress in the store.
    ///
    /// `endpoint` is the registered one, `nil` for an inline URL.
    package func run(_ job: ReplayJob, endpoint: Endpoint?) async {
        var job = job
        let suspect = Suspect(
            .replay,
            partition: suspects.partition(of: job.endpoint),
            name: job.endpoint,
            about: job.endpoint
        )
        do {
            let outcome = try await suspects.handle(one: suspect) {
                () async throws(StoreError) -> Result<Void, any Error> in
                #if DEBUG
                FailPoint.check(.replay, job.endpoint)
                #endif
                do {
                    try await replay(&job, endpoint)
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            guard let outcome else { throw SetAside(id: suspect.id) }
            try outcome.get()
            job.progress = .finished
        } catch {
            job.progress = .failed
            job.error = "\(error)"
        }
        // The end is recorded even after a cancellation. If the store fails, its record of the job expires.
        try? await deliveries.record(job)
    }

    /// The error of a replay that is not run because it has crashed several processes.
    private struct SetAside: Error, CustomStringConvertible {
        let id: String

        var description: String {
            "earlier replays ended \(PoisonGuard.deathsMax) processes; redrive \(id) to try again"
        }
    }

    private func replay(_ job: inout ReplayJob, _ endpoint: Endpoint?) async throws {
        let id = EndpointID(unchecked: job.endpoint)
        // By item and not by ID, because a split of the partition changes the IDs.
        var seen: Set<ItemID> = []
        var cursor: String?
        repeat {
            let page = try await deliveries.deliveries(
                DeliveryQuery(
                    endpoint: id,
                    state: job.choice == .dead ? .dead : nil,
                    limit: Self.batch,
                    cursor: cursor
                )
            )
            let new = page.items.filter { seen.insert($0.id.item).inserted }
            guard seen.count <= ReplayJob.deliveriesMax else {
                throw InvalidInput(
                    "since",
                    "leads to more than \(ReplayJob.deliveriesMax) deliveries; use a later one"
                )
            }
            job.lookedAt += new.count
            try await revise(new, &job, endpoint)
            try await deliveries.record(job)
            cursor = page.next
        } while cursor != nil
        if job.choice == .all, let endpoint { try await markMissing(&job, endpoint, seen) }
    }

    private func revise(
        _ snapshots: [DeliverySnapshot],
        _ job: inout ReplayJob,
        _ endpoint: Endpoint?
    ) async throws {
        var open = snapshots
        for round in 0..<Self.roundsMax where !open.isEmpty {
            if round > 0 {
                try await clock.sleep(for: Self.pause)
                open = try await read(open)
            }
            var revisions: [(revision: DeliveryRevision, events: Int)] = []
            // The state of a delivery that is being attempted is about to change.
            var held = job.isDryRun ? [] : open.filter { $0.queueState == .leased }
            for snapshot in open where job.isDryRun || snapshot.queueState != .leased {
                if let found = try await revision(of: snapshot, job, endpoint) {
                    revisions.append(found)
                }
            }
            if job.isDryRun {
                job.matched += revisions.count
                job.events += revisions.reduce(0) { $0 + $1.events }
                return
            }
            let results = try await deliveries.revise(
                revisions.map(\.revision),
                endingHolds: false
            )
            var done = 0
            for (found, result) in zip(revisions, results) {
                switch result {
                case .done:
                    done += 1
                    job.events += found.events
                case .missing: break
                case .busy: held += open.filter { $0.id.item == found.revision.id.item }
                }
            }
            job.matched += done
            open = held
            if done > 0 { try await pause(after: done, job) }
        }
        job.busy += open.count
    }

    /// Waits so long after a number of deliveries that the job keeps its rate.
    ///
    /// Its record is renewed meanwhile: without it, a second replay of the endpoint could start.
    private func pause(after count: Int, _ job: ReplayJob) async throws {
        for wait in Self.waits(after: count, rate: job.rate) {
            try await clock.sleep(for: wait)
            try await deliveries.record(job)
        }
    }

    /// Returns the waits after a number of deliveries, with a record after each of them.
    static func waits(after count: Int, rate: Int) -> [Duration] {
        let whole = Duration.seconds(1) * count / max(rate, 1)
        let parts = Int(clamping: whole.ms / recordInterval.ms)
        let full = Array(repeating: recordInterval, count: parts)
        return full + [whole - recordInterval * full.count]
    }

    private func read(
        _ snapshots: [DeliverySnapshot]
    ) async throws(StoreError) -> [DeliverySnapshot] {
        var found: [DeliverySnapshot] = []
        for snapshot in snapshots {
            if let now = try await deliveries.delivery(snapshot.id) { found.append(now) }
        }
        return found
    }

    /// Returns the change of a delivery; `nil` when it has nothing to send again.
    private func revision(
        of snapshot: DeliverySnapshot,
        _ job: ReplayJob,
        _ endpoint: Endpoint?
    ) async throws -> (DeliveryRevision, Int)? {
        let old = snapshot.delivery.state
        var new = old
        let since = job.sinceMs.map(Timestamp.init(ms:))
        let count: Int
        switch job.choice {
        case .dead where since == nil:
            new.revive()
            count = new.again.count
        case .dead:
            let log = try await log(of: snapshot, since, endpoint)
            new.revive(Set(log.map(\.seq)))
            count = new.again.count
        case .all:
            let log = try await log(of: snapshot, since, endpoint)
            guard let first = log.first else { return nil }
            new.rewind(to: first.seq - 1)
            count = log.count { $0.seq <= old.cursor }
        }
        guard new != old else { return nil }
        return (DeliveryRevision(id: snapshot.id, from: old, to: new), count)
    }

    private func log(
        of snapshot: DeliverySnapshot,
        _ since: Timestamp?,
        _ endpoint: Endpoint?
    ) async throws(StoreError) -> [Event] {
        // The number of events that a watch keeps.
        let events = try await watches.events(of: snapshot.delivery.watch, after: 0, limit: 100)
        return events.filter { event in
            event.polledAt >= since ?? event.polledAt && endpoint?.subscribes(to: event) ?? true
        }
    }

    /// Marks sources whose events the endpoint never received, because it was disabled for too long.
    private func markMissing(
        _ job: inout ReplayJob,
        _ endpoint: Endpoint,
        _ seen: Set<ItemID>
    ) async throws {
        let since = max((job.sinceMs ?? 0) - 1, 0)
        var seen = seen
        for partition in 0..<outbox.partitions {
            var position = "\(since)-0"
            while true {
                let entries = try await outbox.entries(
                    partition: partition,
                    after: position,
                    limit: 200
                )
                guard let last = entries.last else { break }
                position = last.id
                let missing = entries.filter { entry in
                    let item = Delivery.id(endpoint: endpoint.id, watch: entry.event.key)
                    return endpoint.subscribes(to: entry.event) && seen.insert(item).inserted
                }
                guard !missing.isEmpty else { continue }
                job.lookedAt += missing.count
                job.matched += missing.count
                job.events += missing.count
                if !job.isDryRun {
                    try await deliveries.mark(
                        missing.map { DeliveryMark(endpoint: endpoint.id, watch: $0.event.key) }
                    )
                    try await pause(after: missing.count, job)
                }
                try await deliveries.record(job)
            }
        }
    }
}

/// A job that sends an endpoint's dead letters, or all events since an instant, again.
package struct ReplayJob: Hashable, Sendable, Codable {
    /// The events to send again.
    package enum Choice: String, Hashable, Sendable, Codable, CaseIterable {
        /// The dead letters.
        case dead
        /// Every event since an instant, accepted or not.
        case all
    }

    /// The state of the job.
    package enum Progress: String, Hashable, Sendable, Codable {
        case running
        case finished
        case failed
    }

    /// The default number of deliveries per second: the webhooks of 100 endpoints in addition to the live ones.
    package static let rateStandard = 100
    /// The maximum number of deliveries that one job reads: their IDs are kept, so that none is sent twice.
    package static let deliveriesMax = 1_000_000

    package let endpoint: String
    package let choice: Choice
    /// The time in ms from which events are sent; `nil` for all that are kept.
    package let sinceMs: Int64?
    /// The number of deliveries per second.
    package let rate: Int
    /// Whether to count only.
    package let isDryRun: Bool
    package var progress = Progress.running
    /// The number of deliveries read so far.
    package var lookedAt = 0
    /// The number of those with events to send again.
    package var matched = 0
    /// The number of events to send again.
    package var events = 0
    /// The number of deliveries that were being attempted all the time, and are unchanged.
    package var busy = 0
    /// The reason of the failure.
    package var error: String?

    /// Creates a job that has not started.
    package init(
        endpoint: EndpointID,
        choice: Choice,
        since: Timestamp?,
        rate: Int = Self.rateStandard,
        isDryRun: Bool = false
    ) {
        self.endpoint = endpoint.description
        self.choice = choice
        sinceMs = since?.ms
        self.rate = rate
        self.isDryRun = isDryRun
    }
}
