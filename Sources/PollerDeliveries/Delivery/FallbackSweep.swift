package import Logging
import PollerIdentity
package import PollerOperations
package import PollerQueue
package import PollerWatches
import ServiceLifecycle
import Synchronization

/// Sends late events to the fallbacks of held endpoints, whose own attempts come too late for that.
///
/// A failing delivery marks its fallback itself when it is due. While the circuit of an endpoint is open, or a
/// `Retry-After` applies, one delivery tries and the others wait: for those, this service checks once a second. An
/// endpoint that accepts events is checked less often (``restSpan(within:)``), so that thousands of them cost the store
/// little. Each notifier checks its own partitions, so that two do not mark for the same event. An unavailable part of
/// the store delays only its own endpoints and watches.
///
/// A class, because the heartbeat changes its partitions while it runs.
package final class FallbackSweep<Watches: WatchStore, Deliveries, C: Clock>: Service
where Deliveries: DeliveryQueue & DeliveryOperations & LaneControl, C.Duration == Duration {
    /// The interval of sweeps, by which a `notify_by` of minutes may be late.
    private static var interval: Duration { .seconds(1) }
    /// The longest time between two checks of an endpoint that accepts events.
    private static var restMax: Duration { .seconds(30) }
    /// The number of deliveries of one endpoint per round; each costs a read or two.
    private static var batch: Int { 200 }
    /// The number of events of one delivery per round.
    private static var eventsMax: Int { 32 }

    /// The state under the lock: the partitions to sweep, and the progress at each endpoint in them.
    private struct State: Sendable {
        var partitions: Set<Int> = []
        /// The next position in the deliveries of a held endpoint.
        var cursors: [EndpointID: String] = [:]
        /// The time of the next check of an endpoint that accepted events at the last one.
        var nextChecks: [EndpointID: C.Instant] = [:]
    }

    private let watches: Watches
    private let deliveries: Deliveries
    private let directory: EndpointDirectory
    private let channels: DeliveryChannels
    private let resolver: DeliveryResolver<Watches>
    private let notifier: FallbackNotifier
    private let suspects: PoisonGuard
    private let clock: C
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates a sweep over the deliveries of the endpoints in `directory`.
    ///
    /// A fallback receives only events that one of `channels` would have sent to the endpoint. `suspects` sets aside an
    /// endpoint whose deliveries crash notifiers.
    package init(
        watches: Watches,
        deliveries: Deliveries,
        directory: EndpointDirectory,
        channels: [any DeliveryChannel],
        suspects: PoisonGuard = .none,
        clock: C,
        logger: Logger
    ) {
        self.watches = watches
        self.deliveries = deliveries
        self.directory = directory
        self.channels = DeliveryChannels(channels)
        resolver = DeliveryResolver(store: watches, directory: directory)
        notifier = FallbackNotifier(directory: directory, deliveries: deliveries)
        self.suspects = suspects
        self.clock = clock
        self.logger = logger
    }

    /// Sets the partitions of this process.
    package func assign(_ partitions: Set<Int>) {
        state.withLock { $0.partitions = partitions }
    }

    /// Checks until shutdown.
    package func run() async {
        await clock.repeatUntilShutdown(every: Self.interval) { await self.check() }
    }

    private func check() async {
        let endpoints = ours(directory.withFallback())
        _ = await requestAll(Array(endpoints.keys)) { partition in
            await self.check(at: endpoints[partition] ?? [])
        }
    }

    /// Returns the endpoints of this process by the partition of their deliveries, without a request.
    func ours(_ endpoints: [Endpoint]) -> [Int: [Endpoint]] {
        let all = Dictionary(grouping: endpoints) { deliveries.partition(of: $0.lane) }
        return state.withLock { state in
            let ours = all.filter { state.partitions.contains($0.key) }
            // Endpoints are removed, and partitions change their owner.
            let ids = Set(ours.values.joined().map(\.id))
            state.cursors = state.cursors.filter { ids.contains($0.key) }
            state.nextChecks = state.nextChecks.filter { ids.contains($0.key) }
            return ours
        }
    }

    /// Returns the time until the next check of an endpoint that accepts events.
    ///
    /// If it stops accepting them just after a check, its fallback is late by a thirtieth of its time.
    static func restSpan(within: Duration) -> Duration {
        min(max(within / 30, interval), restMax)
    }

    /// Sweeps the endpoints of one partition.
    private func check(at endpoints: [Endpoint]) async {
        for endpoint in endpoints where !Task.isCancelled {
            let began = clock.now
            let next = state.withLock { $0.nextChecks[endpoint.id] }
            if let next, began < next { continue }
            do throws(StoreError) {
                try await check(at: endpoint)
            } catch {
                // The cursor of another release, from before a downgrade: start at the beginning.
                if error == .unknownCursor { state.withLock { $0.cursors[endpoint.id] = nil } }
                logFailure(error, of: endpoint)
                // Each of the others would wait as long.
                if clock.hasWaited(since: began) { return }
            }
        }
    }

    private func check(at endpoint: Endpoint) async throws(StoreError) {
        guard let notifyBy = endpoint.notifyBy else { return }
        guard let lane = try await deliveries.lane(endpoint.lane),
            lane.circuit != .closed || lane.heldUntil.map({ $0 > lane.now }) ?? false
        else {
            let next = clock.now.advanced(by: Self.restSpan(within: notifyBy.within))
            state.withLock { state in
                state.cursors[endpoint.id] = nil
                state.nextChecks[endpoint.id] = next
            }
            return
        }
        state.withLock { $0.nextChecks[endpoint.id] = nil }
        let suspect = Suspect(
            .fallback,
            partition: suspects.partition(of: endpoint.id.description),
            name: endpoint.id.description,
            account: endpoint.account,
            about: endpoint.id.description
        )
        _ = try await suspects.handle(one: suspect) { () async throws(StoreError) -> Void in
            #if DEBUG
            FailPoint.check(.fallback, endpoint.id.description)
            #endif
            try await escalateAll(of: endpoint, notifyBy, now: lane.now)
        }
    }

    /// Marks fallbacks for the next deliveries of a held endpoint.
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
        // The watches are in other partitions, those of one lane together.
        var unavailableLanes: Set<LaneID> = []
        for snapshot in page.items {
            let watches = snapshot.delivery.watch.lane
            guard case .waiting = snapshot.queueState, !unavailableLanes.contains(watches) else {
                continue
            }
            do throws(StoreError) {
                try await escalate(snapshot, notifyBy, now: now)
            } catch {
                if unavailableLanes.isEmpty { logFailure(error, of: endpoint) }
                unavailableLanes.insert(watches)
            }
        }
    }

    private func logFailure(_ error: StoreError, of endpoint: Endpoint) {
        logger.warning(
            "fallbacks not notified yet",
            metadata: endpoint.logged.merging(["error": "\(error)"]) { $1 }
        )
    }

    /// Marks the fallback for every late event of a delivery.
    private func escalate(
        _ snapshot: DeliverySnapshot,
        _ notifyBy: Endpoint.NotifyBy,
        now: Timestamp
    ) async throws(StoreError) {
        var state = snapshot.delivery.state
        let events = try await watches.deliverableEvents(
            of: snapshot.delivery.watch,
            after: max(state.cursor, state.escalated),
            limit: Self.eventsMax
        )
        let late = events.prefix { $0.polledAt + notifyBy.within <= now }
        guard !late.isEmpty || !state.pendingFallback.isEmpty,
            case .target(let target) = await resolver.resolve(snapshot.delivery)
        else { return }
        var pendingEvents: [Event] = []
        for seq in state.pendingFallback {
            if let event = try await watches.event(seq, of: snapshot.delivery.watch) {
                pendingEvents.append(event)
            }
            state.removePendingFallback(seq)
        }
        let channel = channels.channel(for: target.url.scheme)
        pendingEvents += late.filter { channel.sends($0, to: target) }
        for event in pendingEvents {
            try await notifier.make(event, to: notifyBy.fallback)
            logger.warning(
                "not accepted in time; notifying the fallback",
                metadata: notifier.logged(notifyBy.fallback).merging(["event.id": "\(event.id)"]) {
                    $1
                }
            )
        }
        state.escalated = late.last?.seq ?? state.escalated
        let revision = DeliveryRevision(
            id: snapshot.id,
            from: snapshot.delivery.state,
            to: state
        )
        // Busy: it is being attempted, and marks the fallback itself or is checked again.
        _ = try await deliveries.revise([revision], endingHolds: false)
    }
}

/// Marks the fallback of an endpoint for an event that the endpoint did not accept in time.
///
/// The caller records the mark afterwards. A crash between the two marks again, and the fallback may receive the event
/// again with the same ID.
struct FallbackNotifier: Sendable {
    let directory: EndpointDirectory?
    let deliveries: any DeliveryQueue

    /// Returns the log metadata of a fallback.
    func logged(_ fallback: EndpointID) -> Logger.Metadata {
        directory?.known(fallback)?.logged ?? ["endpoint": "\(fallback)"]
    }

    /// Marks the fallback's delivery; it receives the event even if it does not subscribe to it.
    func make(_ event: Event, to fallback: EndpointID) async throws(StoreError) {
        // If the fallback subscribes to the event, it receives it in order.
        let isWanted = try await directory?.endpoint(fallback)?.subscribes(to: event) == true
        let mark = DeliveryMark(
            endpoint: fallback,
            watch: event.key,
            forcedSeq: isWanted ? nil : event.seq
        )
        try await deliveries.mark([mark])
    }
}
