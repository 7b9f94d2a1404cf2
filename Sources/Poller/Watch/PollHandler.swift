import JSONText
package import Logging

/// What a worker does with a watch: asks the upstream once and lets the ``PollDecider`` say what
/// follows.
///
/// One turn is one look and at most one charge or other act, in this order:
/// 1. A watch that has ended its workers too often is not asked about: it is put aside.
/// 2. The upstream is asked about the source, its charge, or both (``Looked``).
/// 3. A source that was just seen chargeable, as it was told before, is charged; one that was
///    consumed by nobody knows what is searched for its charge (``ChargeStep``).
/// 4. Money that the watch's order was paid with a second time goes back (``DuplicateRefunds``).
/// 5. A payment whose deadline is near is captured or cancelled, where the watch was told to
///    (``DeadlineActs``).
/// 6. The decider turns what came of it into a ``Decision``.
///
/// Nothing is asked for that could not be recorded: each step has what the lease still allows, less
/// ``commitMargin``. A turn that is cancelled gives the watch back: an answer that was cut off says
/// nothing, and a charge has a key that gives another worker the same answer.
package struct PollHandler<Provider: Upstream>: ItemHandler {
    /// What a poll leaves of its lease for the commit.
    static var commitMargin: Duration { .seconds(1) }
    /// How often a poll searches for the charge of a consumed source before it reports the status without it: some
    /// seven seconds with the waits between.
    static var chargeSearches: Int { 3 }

    let upstream: Provider
    let charger: (any Charger)?
    let payments: (any PaymentReader)?
    let settler: (any Settler)?
    let orders: OrderBook?
    private let secureTries: SecureTries?
    let timeout: Duration
    let decider: PollDecider
    let metrics = PollMetrics()
    private let tracer: (any WorkTracer)?
    private let onPaid: @Sendable (AccountID) -> Void
    let logger: Logger

    /// A handler whose polls take at most `timeout`, from the connection to the last byte.
    ///
    /// Without a charger nothing is charged, and without a settler nothing captured or cancelled, whatever
    /// a watch asks for; without a reader of payments
    /// only statuses are told; without a book each source is charged, whatever order it pays;
    /// without `secureTries` what 3-D Secure is done with is made and not watched; without a tracer what
    /// a watch carries of a trace is passed on as it is. An object whose answers make no sense for
    /// `quarantineAfter` is given up. `onPaid` is called with the account when a poll has seen money arrive.
    package init(
        upstream: Provider,
        charger: (any Charger)? = nil,
        settler: (any Settler)? = nil,
        payments: (any PaymentReader)? = nil,
        orders: OrderBook? = nil,
        secureTries: SecureTries? = nil,
        timeout: Duration,
        quarantineAfter: Duration = PollDecider.quarantineAfter,
        tracer: (any WorkTracer)? = nil,
        onPaid: @escaping @Sendable (AccountID) -> Void = { _ in },
        logger: Logger
    ) {
        decider = PollDecider(quarantineAfter: quarantineAfter)
        self.tracer = tracer
        self.onPaid = onPaid
        self.upstream = upstream
        self.charger = charger
        self.settler = settler
        self.payments = payments
        self.orders = orders
        self.secureTries = secureTries
        self.timeout = timeout
        self.logger = logger
    }

    package func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
        var watch = leased.item
        watch.charge = order(for: watch)
        watch.acts = acts(for: watch)
        let polledAt = leased.now
        if leased.lease.crashes >= Lease<Watch>.poisonAt { return quarantined(leased) }
        let limit = min(timeout, leased.remaining - Self.commitMargin)
        guard limit > .zero else { return nil }

        // What waits for an answer is a thousand at a time: it holds no more than the asking needs, and what
        // follows has a frame of its own.
        guard let looked = await look(watch, leased, polledAt, limit) else { return nil }
        return await follow(looked, of: watch, leased, polledAt)
    }

    /// Does what the answer asks for, and decides.
    private func follow(
        _ looked: Looked,
        of watch: Watch,
        _ leased: LeasedItem<Watch>,
        _ polledAt: Timestamp
    ) async -> Decision<WatchChange>? {
        let (step, result) = (looked.step, looked.result)
        let charged = await charge(watch, after: result, step, leased)
        // The same holds for a charge: the idempotency key gives another worker the same answer.
        if Task.isCancelled { return nil }

        let refunded = await refundDuplicate(watch, after: result, charged?.1, leased)
        if Task.isCancelled { return nil }

        let traced = tracer.map { TracedPoll($0, watch, at: polledAt) }
        var told = watch
        if let traced { told.trace = traced.cause }
        var context = pollContext(told, leased, polledAt)
        context.chargeSeen = looked.charge
        context.duplicateRefund = refunded.flatMap { $0.isTried ? $0 : nil }
        var acted: ActedOn?
        if charged == nil, refunded == nil {
            acted = await settle(context, after: result, leased)
            // The next look tells another worker what came of it.
            if Task.isCancelled { return nil }
        }
        var decision = decide(context, result, step, charged, refunded, acted)
        // What was put off or acted on records nothing of what was seen.
        if acted == nil, !(refunded?.isPostponed ?? false) {
            let known = looked.charge == nil ? nil : watch.state.charge.charge
            let seen = known.map(ChargeStep.charge) ?? step
            decision.change.seesMoney = seen.seesNews(of: watch, result, charged?.1, decision)
        }
        if decision.change.events.contains(where: \.tellsOfMoney) { onPaid(watch.key.account) }
        traced?.end(context, result, decision)
        report(context, result, decision, watch.trace)
        return decision
    }

    /// What is to be charged: what the watch says, or its account.
    private func order(for watch: Watch) -> ChargeOrder? {
        guard let charger, watch.key.kind == .source else { return nil }
        let order = watch.charge ?? charger.standingOrder(for: watch.key.account)
        return order.flatMap { $0.isNothing ? nil : $0 }
    }

    /// What is to be done before a deadline passes: what the watch says, or its account.
    private func acts(for watch: Watch) -> DeadlineActs {
        guard let settler, watch.key.kind.isIntent else { return .unsaid }
        return watch.acts.filled(by: settler.standing(for: watch.key.account))
    }

    /// Charges the source if it is time, or looks for the charge that consumed it.
    private func charge(
        _ watch: Watch,
        after result: PollResult,
        _ step: ChargeStep,
        _ leased: LeasedItem<Watch>
    ) async -> (Observation, ChargeResult)? {
        guard let charger, step == .source, case .observed(let seen) = result,
            let object = seen.object,
            let action = ChargeStep.action(watch, seeing: seen)
                ?? proof(of: watch, seen, at: leased.now)
        else { return nil }
        // A poll that begins a moment before the lease ends could not be recorded.
        let limit = min(timeout, leased.remaining - Self.commitMargin)
        guard limit > .zero else {
            return (seen, .postponed("the lease was about to end", retryAfter: nil))
        }
        let charged =
            switch action {
            case .charge(let order):
                await charge(watch, order, object, charger, leased)
            case .find: await charger.find(watch, object: object, timeout: limit)
            }
        metrics.count(charged)
        guard action == .find else { return (seen, charged) }
        switch charged {
        // A list of charges may lag seconds behind the source.
        case .declined
        where seen.status == .consumed && watch.charge == nil
            && watch.state.failures < Self.chargeSearches:
            return (seen, .postponed("the charge of the source is not listed", retryAfter: nil))
        // The source was consumed, but by no charge that can be found: the truth is its status.
        case .declined: return nil
        // What was refused is known.
        case .made(let found) where watch.state.charge == .failed && found.status == .failed:
            return nil
        case .made: return (seen, charged)
        // Nor is that held back for a charge of somebody else's, which a key may not see at all: it is told,
        // and a look of its own is for the money.
        default:
            let isOrdered = watch.charge != nil && watch.state.charge != .failed
            return isOrdered || watch.isReview ? (seen, charged) : nil
        }
    }

    /// A search for the charge that has just used up a source, where nobody knows it; or for one of a source that
    /// stays chargeable, at the last poll.
    ///
    /// It may be a hold, or not answered yet. The method is believed where nobody here may see charges.
    private func proof(
        of watch: Watch,
        _ seen: Observation,
        at now: Timestamp
    ) -> ChargeStep.Action? {
        guard watch.key.kind == .source, watch.charge == nil, watch.state.charge == .none else {
            return nil
        }
        if seen.status == .consumed { return watch.state.status == .consumed ? nil : .find }
        return seen.isSteadySource && now >= watch.end ? .find : nil
    }

    /// Charges the source, if the order it pays may be charged by it.
    private func charge(
        _ watch: Watch,
        _ order: ChargeOrder,
        _ object: RawJSON,
        _ charger: any Charger,
        _ leased: LeasedItem<Watch>
    ) async -> ChargeResult {
        var right: ChargeRight?
        if let orders, let name = watch.order {
            do throws(StoreError) {
                switch try await orders.take(watch) {
                case .granted(let number)?: right = ChargeRight(order: name, number: number)
                case .refused(let other)?:
                    let reason = "order \(name) is paid by \(other.source), or may still be"
                    return .postponed(reason, retryAfter: nil)
                case nil: break
                }
            } catch {
                return .postponed("nobody knows who pays order \(name): \(error)", retryAfter: nil)
            }
        }
        // The store may have taken its time.
        let limit = min(timeout, leased.remaining - Self.commitMargin)
        guard limit > .zero else {
            return .postponed("the lease was about to end", retryAfter: nil)
        }
        let result = await charger.charge(
            watch,
            order,
            by: right,
            object: object,
            timeout: limit
        )
        guard case .unauthenticated(let secure?) = result, let secureTries else { return result }
        do throws(StoreError) {
            try await secureTries.watch(secure, of: watch, charging: order)
            return result
        } catch {
            return .postponed("\(secure.key.source) is not watched yet: \(error)", retryAfter: nil)
        }
    }

    private func decide(
        _ context: PollContext,
        _ result: PollResult,
        _ step: ChargeStep,
        _ charged: (seen: Observation, result: ChargeResult)?,
        _ refunded: RefundResult?,
        _ acted: ActedOn?
    ) -> Decision<WatchChange> {
        var chance = SystemRandomNumberGenerator()
        if case .postponed(let reason, let retryAfter)? = refunded {
            return decider.decide(context, notRefunded: reason, retryAfter, using: &chance)
        }
        if let acted { return decider.decide(context, acted: acted, using: &chance) }
        if let charged {
            return decider.decide(context, charged.seen, charging: charged.result, using: &chance)
        }
        if case .charge(let id) = step {
            return decider.decide(context, following: id, result, using: &chance)
        }
        return decider.decide(context, result, using: &chance)
    }

    private func quarantined(_ leased: LeasedItem<Watch>) -> Decision<WatchChange> {
        let crashes = leased.lease.crashes
        logger.error(
            "quarantined: its workers died",
            metadata: ["source": "\(leased.item.key.source)", "crashes": "\(crashes)"]
        )
        return decider.poisoned(leased.item, crashes: crashes, now: leased.now)
    }
}

extension Event {
    /// Whether the event reports received money.
    fileprivate var tellsOfMoney: Bool {
        [PaymentState.paid, .partiallyPaid].contains { $0.eventType == type }
    }
}
