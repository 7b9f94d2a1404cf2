package import Logging
import PollerIdentity
package import PollerQueue
import ServiceLifecycle
import Synchronization

/// Calls the fallbacks of endpoints that are held, whose own attempts do not come round in time.
///
/// A delivery that fails calls the fallback itself when its time has come. While the circuit of
/// an endpoint is open, or a `Retry-After` runs, one delivery tries and the others wait: for them
/// this looks once a second. Each notifier looks at the partitions that are its own, so that two
/// do not call for the same event. What does not answer holds up its own endpoints and watches alone.
///
/// A class, because the heartbeat changes its partitions while it runs.
package final class FallbackSweep<Watches: WatchStore, Deliveries, C: Clock>: Service
where Deliveries: DeliveryQueue & DeliveryBook & LaneControl, C.Duration == Duration {
    /// What a promise of minutes may be late by.
    private static var interval: Duration { .seconds(1) }
    /// Deliveries of one endpoint looked at in a round: each is a read or two.
    private static var batch: Int { 200 }
    /// Events of one delivery in a round.
    private static var eventsMax: Int { 32 }

    /// What the lock guards: the partitions to sweep, and where each endpoint's next look begins.
    private struct State: Sendable {
        var partitions: Set<Int> = []
        /// Where the next look at an endpoint begins.
        var cursors: [EndpointID: String] = [:]
    }

    private let watches: Watches
    private let deliveries: Deliveries
    private let directory: EndpointDirectory
    private let resolver: DeliveryResolver<Watches>
    private let call: FallbackCall
    private let suspects: PoisonGuard
    private let clock: C
    private let logger: Logger
    private let state = Mutex(State())

    /// Looks at the deliveries of the endpoints in `directory`; `suspects` sets aside an endpoint whose deliveries end
    /// notifiers.
    package init(
        watches: Watches,
        deliveries: Deliveries,
        directory: EndpointDirectory,
        suspects: PoisonGuard = .none,
        clock: C,
        logger: Logger
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.directory = directory
        resolver = DeliveryResolver(store: watches, directory: directory)
        call = FallbackCall(directory: directory, deliveries: deliveries)
        self.suspects = suspects
        self.clock = clock
        self.logger = logger
    }

    /// These partitions are ours to look at.
    package func own(_ partitions: Set<Int>) {
        state.withLock { $0.partitions = partitions }
    }

    /// Looks until shut down.
    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.look()
                // Cancelled: the loop's condition ends it.
                try? await self.clock.sleep(for: Self.interval)
            }
        }
    }

    private func look() async {
        let endpoints = ours(directory.withFallback())
        _ = await asking(Array(endpoints.keys)) { partition in
            await self.look(at: endpoints[partition] ?? [])
        }
    }

    /// Those that are ours to look at, by the partition of their deliveries, which nobody is asked for.
    func ours(_ endpoints: [Endpoint]) -> [Int: [Endpoint]] {
        let all = Dictionary(grouping: endpoints) { deliveries.partition(of: $0.lane) }
        return state.withLock { state in
            for (partition, others) in all where !state.partitions.contains(partition) {
                for endpoint in others { state.cursors[endpoint.id] = nil }
            }
            return all.filter { state.partitions.contains($0.key) }
        }
    }

    /// Looks at the endpoints of one partition.
    private func look(at endpoints: [Endpoint]) async {
        for endpoint in endpoints where !Task.isCancelled {
            let began = clock.now
            do throws(StoreError) {
                try await look(at: endpoint)
            } catch {
                // Another release's, before it was stopped: from the beginning.
                if error == .unknownCursor { state.withLock { $0.cursors[endpoint.id] = nil } }
                tell(error, of: endpoint)
                // Each of the others would wait as long.
                if clock.hasWaited(since: began) { return }
            }
        }
    }

    private func look(at endpoint: Endpoint) async throws(StoreError) {
        guard let notifyBy = endpoint.notifyBy,
            let lane = try await deliveries.lane(endpoint.lane),
            lane.circuit != .closed || lane.heldUntil.map({ $0 > lane.now }) ?? false
        else {
            state.withLock { $0.cursors[endpoint.id] = nil }
            return
        }
        let suspect = Suspect(
            .fallback,
            partition: suspects.home(of: endpoint.id.description),
            name: endpoint.id.description,
            account: endpoint.account,
            about: endpoint.id.description
        )
        _ = try await suspects.handle(one: suspect) { () async throws(StoreError) -> Void in
            #if DEBUG
            PlantedTrap.check(.fallback, endpoint.id.description)
            #endif
            try await escalateAll(of: endpoint, notifyBy, now: lane.now)
        }
    }

    /// Calls for the next deliveries of an endpoint that is held.
    private func escalateAll(
        of endpoint: Endpoint,
        _ notifyBy: Endpoint.NotifyBy,
        now: Timestamp
    ) async throws(StoreError) {
        let page = try await deliveries.deliveries(
            DeliveryQuery(
                endpoint: endpoint.id,
                limit: Self.batch,
                cursor: state.withLock { $0.cursors[endpoint.id] }
            )
        )
        state.withLock { $0.cursors[endpoint.id] = page.next }
        // The watches lie elsewhere, those of one lane together.
        var away: Set<LaneID> = []
        for snapshot in page.items {
            let watches = snapshot.delivery.watch.lane
            guard case .waiting = snapshot.place, !away.contains(watches) else { continue }
            do throws(StoreError) {
                try await escalate(snapshot, endpoint, notifyBy, now: now)
            } catch {
                if away.isEmpty { tell(error, of: endpoint) }
                away.insert(watches)
            }
        }
    }

    private func tell(_ error: StoreError, of endpoint: Endpoint) {
        logger.warning(
            "fallbacks not called yet",
            metadata: endpoint.logged.merging(["error": "\(error)"]) { $1 }
        )
    }

    /// Calls for every event of a delivery whose time has passed.
    private func escalate(
        _ snapshot: DeliverySnapshot,
        _ endpoint: Endpoint,
        _ notifyBy: Endpoint.NotifyBy,
        now: Timestamp
    ) async throws(StoreError) {
        var state = snapshot.delivery.state
        let events = try await watches.eventsToTell(
            of: snapshot.delivery.watch,
            after: max(state.cursor, state.escalated),
            limit: Self.eventsMax
        )
        let late = events.prefix { $0.polledAt + notifyBy.within <= now }
        guard !late.isEmpty || !state.owed.isEmpty,
            case .target = await resolver.resolve(snapshot.delivery)
        else { return }
        var calls: [Event] = []
        for seq in state.owed {
            if let event = try await watches.event(seq, of: snapshot.delivery.watch) {
                calls.append(event)
            }
            state.pay(seq)
        }
        calls += late.filter(endpoint.wants)
        for event in calls {
            try await call.make(event, to: notifyBy.fallback)
            logger.warning(
                "not accepted in time, the fallback is told",
                metadata: call.logged(notifyBy.fallback).merging(["event.id": "\(event.id)"]) { $1 }
            )
        }
        state.escalated = late.last?.seq ?? state.escalated
        let revision = DeliveryRevision(
            id: snapshot.id,
            from: snapshot.delivery.state,
            to: state
        )
        // Busy: it is being tried, and calls for itself or is looked at again.
        _ = try await deliveries.revise([revision], endingHolds: false)
    }
}

/// Has the fallback of an endpoint told of what the endpoint did not accept in time.
///
/// Whoever calls records after it that this is done: a crash between the two calls again, and the
/// fallback may be told again under the same event id.
struct FallbackCall: Sendable {
    let directory: EndpointDirectory?
    let deliveries: any DeliveryQueue

    /// The fields by which a log line names a fallback.
    func logged(_ fallback: EndpointID) -> Logger.Metadata {
        directory?.known(fallback)?.logged ?? ["endpoint": "\(fallback)"]
    }

    /// Marks the fallback's delivery; it is told whatever it asked for.
    func make(_ event: Event, to fallback: EndpointID) async throws(StoreError) {
        // What the fallback asked for itself it is told in its order.
        let isWanted = try await directory?.endpoint(fallback)?.wants(event) == true
        let mark = DeliveryMark(
            endpoint: fallback,
            watch: event.key,
            telling: isWanted ? nil : event.seq
        )
        try await deliveries.mark([mark])
    }
}
