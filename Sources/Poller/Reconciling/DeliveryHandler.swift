package import Logging
import Metrics

/// A notifier's hand: tells one endpoint the next event of one source it has not been told yet.
///
/// One event a turn, so that each success is recorded before the next attempt: a crash repeats
/// at most the one attempt whose outcome nobody recorded, with the same event id.
package struct DeliveryHandler<Store: WatchStore>: Reconciling {
    /// Events read at a time; those an endpoint does not want are passed over in one turn.
    static var readAhead: Int { 32 }

    private let store: Store
    private let resolver: DeliveryResolver<Store>
    private let warden: EndpointWarden?
    private let fallbacks: FallbackCall?
    private let channels: [String: any DeliveryChannel]
    private let logger: Logger

    /// Delivers what `store` has recorded, to inline URLs and to the endpoints of `directory`,
    /// through the channel that serves the URL's scheme.
    ///
    /// `deliveries` is where fallback endpoints are marked; without it nobody falls back.
    package init(
        store: Store,
        directory: EndpointDirectory? = nil,
        deliveries: (any DeliveryQueue)? = nil,
        channels: [any DeliveryChannel],
        logger: Logger
    ) {
        self.store = store
        resolver = DeliveryResolver(store: store, directory: directory)
        fallbacks = deliveries.map { FallbackCall(directory: directory, deliveries: $0) }
        warden = directory.map { EndpointWarden(directory: $0, logger: logger) }
        self.logger = logger
        var byScheme: [String: any DeliveryChannel] = [:]
        for channel in channels {
            for scheme in channel.schemes { byScheme[scheme] = channel }
        }
        self.channels = byScheme
    }

    package func reconcile(_ held: Held<Delivery>) async -> Reconciled<DeliveryChange>? {
        let delivery = held.item
        let target: DeliveryTarget
        switch await resolver.resolve(delivery) {
        case .target(let found): target = found
        case .instead(let answer): return answer
        }
        guard let channel = channels[target.url.scheme] else {
            return skipped(
                delivery,
                why: "no channel for \(target.url.scheme): is POLLER_SMTP_URL set?"
            )
        }
        let look: Look
        do {
            look = try await next(held, target, isSuperseding: channel.isSuperseding) { event in
                channel.wants(event) && target.endpoint?.wants(event) ?? true
            }
        } catch {
            let why = "log unreadable: \(error)"
            let change = DeliveryChange(state: delivery.state, lastError: why)
            return Reconciled(verdict: .next(after: .seconds(1)), change: change)
        }
        switch look {
        case .passed(let state, let verdict):
            return Reconciled(verdict: verdict, change: DeliveryChange(state: state))
        case .event(let pending):
            return await attempt(held, pending, target, through: channel)
        }
    }

    /// Tries an event and says what to record.
    private func attempt(
        _ held: Held<Delivery>,
        _ pending: PendingEvent,
        _ target: DeliveryTarget,
        through channel: any DeliveryChannel
    ) async -> Reconciled<DeliveryChange>? {
        let state = held.item.state
        let decider = DeliveryDecider(
            schedule: target.endpoint?.retry.schedule(standard: channel.schedule)
                ?? channel.schedule,
            notifyBy: fallbacks == nil ? nil : target.endpoint?.notifyBy?.within
        )
        let concluding = DeliveryConcluding(held, pending, target, decider, logger)
        if held.lease.crashes >= Lease<Delivery>.poisonAt {
            let why = "\(held.lease.crashes) notifiers in a row ended without a word on it"
            return await told(concluding.conclude(.rejected(why, .poison), began: held.now), target)
        }
        if let unsent = concluding.outlived() { return await told(unsent, target) }
        let timeout = target.endpoint?.timeout ?? channel.timeout
        // After a stall somebody else may hold it before this attempt could end: give it back.
        guard held.remaining > timeout else { return nil }
        let began = held.now
        var result = await channel.deliver(
            pending.event,
            to: target,
            attempt: state.failures + 1
        )
        // Not every channel takes the time itself.
        if result.phases.totalMs == nil { result.phases.totalMs = Int((held.now - began).ms) }
        if Task.isCancelled, result.outcome != .delivered { return nil }
        if let endpoint = target.endpoint {
            await warden?.hear(result, of: endpoint, held.lease.trouble, now: held.now)
        }
        return await told(concluding.conclude(result, began: began), target)
    }

    /// What is recorded, once the fallback endpoint is marked where it is to be told.
    ///
    /// The mark comes first: a crash between the two marks again, which changes nothing. Nil when
    /// it cannot be stored; the attempt is then made again.
    private func told(
        _ conclusion: DeliveryConcluding.Conclusion,
        _ target: DeliveryTarget
    ) async -> Reconciled<DeliveryChange>? {
        guard let event = conclusion.escalates, let fallback = target.endpoint?.notifyBy?.fallback
        else { return conclusion.record }
        do throws(StoreError) {
            try await fallbacks?.make(event, to: fallback)
        } catch {
            logger.warning(
                "fallback not told yet",
                metadata: ["endpoint": "\(fallback)", "error": "\(error)"]
            )
            return nil
        }
        logger.warning(
            "not accepted in time, the fallback is told",
            metadata: ["endpoint": "\(fallback)", "event.id": "\(event.id)"]
        )
        return conclusion.record
    }

    /// Nobody here can deliver to this URL: look again in a minute, the operator may mend it.
    private func skipped(_ delivery: Delivery, why: String) -> Reconciled<DeliveryChange> {
        logger.error(
            "delivery impossible",
            metadata: ["endpoint": "\(delivery.endpoint)", "error": "\(why)"]
        )
        let change = DeliveryChange(state: delivery.state, lastError: why)
        return Reconciled(
            verdict: .next(after: .seconds(60)),
            change: change,
            signal: .hold(.zero)
        )
    }
}

/// What is to be told.
extension DeliveryHandler {
    private enum Look {
        case event(PendingEvent)
        /// Nothing now.
        case passed(DeliveryState, Verdict)
    }

    /// Finds the event to try: one that is asked for again, else the next after the cursor.
    private func next(
        _ held: Held<Delivery>,
        _ target: DeliveryTarget,
        isSuperseding: Bool,
        wants: (Event) -> Bool
    ) async throws(StoreError) -> Look {
        let delivery = held.item
        var state = delivery.state
        if let seq = state.again.first {
            let event = try await store.events(of: delivery.watch, after: seq - 1, limit: 1).first
            if let event, event.seq == seq {
                return .event(PendingEvent(event, more: true))
            }
            // Its log has let go of it.
            state.settle(seq)
            return .passed(state, .next(after: .zero))
        }
        let events = try await store.events(
            of: delivery.watch,
            after: state.cursor,
            limit: Self.readAhead
        )
        if events.isEmpty, let behind = await rewound(delivery) {
            state.cursor = behind
            return .passed(state, .next(after: .zero))
        }
        let isFailing =
            state.failures > 0 || (state.failedSince != nil && held.lease.trouble != nil)
        let isWhole = events.count < Self.readAhead
        if let pending = PendingEvent(
            in: events,
            isWhole: isWhole,
            coalesces: isFailing && (isSuperseding || target.endpoint?.coalesces == true),
            wants: wants
        ) {
            return .event(pending)
        }
        state.cursor = events.last?.seq ?? state.cursor
        // A full page of unwanted events may hide more behind it.
        return .passed(state, isWhole ? state.restingVerdict : .next(after: .zero))
    }

    /// Where the cursor must go back to, when the store has lost events that were told already.
    ///
    /// What is recorded after a failover takes the numbers of what was lost; from one before the
    /// newest on it is told again, rather than the end of the payment to nobody.
    private func rewound(_ delivery: Delivery) async -> Int? {
        guard let snapshot = try? await store.snapshot(of: delivery.watch),
            snapshot.watch.seq < delivery.state.cursor
        else { return nil }
        logger.warning(
            "the store has lost events that were told",
            metadata: ["source": "\(delivery.watch.source)", "seq": "\(snapshot.watch.seq)"]
        )
        return max(snapshot.watch.seq - 1, 0)
    }
}
