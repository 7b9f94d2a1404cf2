import JSONText
import Metrics
import PollerIdentity
import PollerPayments
package import PollerQueue
package import PollerWatches

/// Charges a source that a poll has just observed as chargeable, or searches for the charge that consumed it.
///
/// A source is charged in the poll after the one that recorded it as chargeable (``ChargeStep``). Because of the
/// idempotency key, a repeated charge gets the same response.
package struct ChargeFollowUp: FollowUp {
    /// The number of searches for the charge of a consumed source before the status is reported without it: about seven
    /// seconds with the waits in between.
    private static let searchesMax = 3
    /// The number of lost answers to a charge and of searches for it before the status is reported without it: about a
    /// minute with the waits in between.
    ///
    /// The source was consumed after a request to charge it, so its charge very likely exists.
    private static let doubtfulSearchesMax = 6

    private let charger: any Charger
    private let orders: OrderService?
    private let threeDSecureWatcher: ThreeDSecureWatcher?
    private let charges = Dictionary(
        uniqueKeysWithValues: ChargeResult.names.map { name in
            (name, Counter(label: "poller_charges_total", dimensions: [("result", name)]))
        }
    )

    /// Creates a follow-up that charges through `charger`.
    ///
    /// Without `orders` each source is charged, even if its order is paid. Without `threeDSecureWatcher` a 3-D Secure
    /// source is created but not watched.
    package init(
        _ charger: any Charger,
        orders: OrderService? = nil,
        threeDSecureWatcher: ThreeDSecureWatcher? = nil
    ) {
        self.charger = charger
        self.orders = orders
        self.threeDSecureWatcher = threeDSecureWatcher
    }

    /// Sets the charge that the watch or its account requests.
    package func prepare(_ watch: inout Watch) {
        guard watch.key.kind == .source else {
            watch.charge = nil
            return
        }
        let instruction = watch.charge ?? charger.defaultCharge(for: watch.key.account)
        watch.charge = instruction.flatMap { $0.isNothing ? nil : $0 }
    }

    package func act(
        on outcome: PollOutcome,
        _ context: inout PollContext,
        _ leased: LeasedItem<Watch>,
        timeout: Duration
    ) async -> PollOutcome {
        let watch = context.watch
        guard case .answer(.observed(let seen)) = outcome, let object = seen.object,
            let action = ChargeStep.action(watch, seeing: seen)
                ?? proof(of: watch, seen, at: context.now)
        else { return outcome }
        guard let limit = leased.limit(timeout) else {
            return .charged(seen, .postponed("the lease was about to end", retryAfter: nil))
        }
        switch action {
        case .charge(let instruction):
            let result = await charge(context, instruction, seen, object, leased, timeout)
            count(result)
            return .charged(seen, result)
        case .find:
            let result = await charger.find(watch, object: object, timeout: limit)
            count(result)
            return decisive(result, of: watch, seen).map { .charged(seen, $0) } ?? outcome
        }
    }

    private func count(_ result: ChargeResult) {
        charges[result.name]?.increment()
    }

    /// Returns a search for the unknown charge that has just consumed a source, or for a charge of a source that stays
    /// chargeable, at the last poll.
    ///
    /// The charge may be a hold, or not answered yet. Without permission to read charges, the method decides.
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

    /// Returns the search result with which the poll ends; `nil` when it ends with the status of the source.
    private func decisive(
        _ found: ChargeResult,
        of watch: Watch,
        _ seen: Observation
    ) -> ChargeResult? {
        switch found {
        // A list of charges may lag seconds behind the source.
        case .declined
        where seen.status == .consumed && watch.state.failures < Self.failuresMax(for: watch):
            return .postponed("the charge of the source is not listed", retryAfter: nil)
        // No charge that consumed the source can be found, so its status is reported.
        case .declined: return nil
        // The failed charge was reported before.
        case .made(let charge) where watch.state.charge == .failed && charge.status == .failed:
            return nil
        case .made: return found
        // The status is not held back for a charge by another party, which the key may not be able to read. It is
        // reported, and another poll reads the money.
        default:
            let isOrdered = watch.charge != nil && watch.state.charge != .failed
            return isOrdered || watch.isReview ? found : nil
        }
    }

    /// Returns the number of failures before the search for the charge of a consumed source ends.
    private static func failuresMax(for watch: Watch) -> Int {
        if watch.state.charge == .doubtful { return doubtfulSearchesMax }
        return watch.charge == nil ? searchesMax : 0
    }

    /// Charges the source if its order may be charged.
    private func charge(
        _ context: PollContext,
        _ instruction: ChargeInstruction,
        _ seen: Observation,
        _ object: RawJSON,
        _ leased: LeasedItem<Watch>,
        _ timeout: Duration
    ) async -> ChargeResult {
        let watch = context.watch
        // An attempt that cannot be charged yet takes no right, so that another attempt of its order can be charged.
        if let obstacle = charger.obstacle(to: instruction, object: object) { return obstacle }
        var right: ChargeRight?
        if let orders, let name = watch.order {
            do throws(StoreError) {
                switch try await orders.take(watch, at: context.polledAt) {
                case .granted(let number)?: right = ChargeRight(order: name, number: number)
                case .refused(let other)?:
                    let reason = "order \(name) is paid by \(other.source), or may still become so"
                    let found = await chargeInDoubt(of: watch, seen, object, leased, timeout)
                    return found ?? .postponed(reason, retryAfter: nil)
                case nil: break
                }
            } catch {
                return .postponed("order \(name) could not be read: \(error)", retryAfter: nil)
            }
        }
        var result = ChargeResult.postponed(
            "the lease was about to end",
            retryAfter: nil,
            isCertain: true
        )
        // The store may have been slow.
        if let limit = leased.limit(timeout) {
            result = await charger.charge(
                watch,
                instruction,
                by: right,
                object: object,
                timeout: limit
            )
        }
        // Until the next poll another attempt may be charged, unless a charge without this right is in doubt. If the
        // store does not answer, this attempt keeps the right.
        if case .postponed(_, _, true) = result, watch.state.charge == .none, let right {
            try? await orders?.release(right.number, of: watch)
        }
        guard case .unauthenticated(let secure?) = result, let threeDSecureWatcher else {
            return result
        }
        do throws(StoreError) {
            try await threeDSecureWatcher.watch(secure, of: watch, charging: instruction)
            return result
        } catch {
            return .postponed("\(secure.key.source) is not watched yet: \(error)", retryAfter: nil)
        }
    }

    /// Returns the charge of an attempt in doubt that may not be charged now; `nil` if none is found.
    ///
    /// A reusable source stays chargeable after its charge, so only a search shows that its order is paid, or paid
    /// twice.
    private func chargeInDoubt(
        of watch: Watch,
        _ seen: Observation,
        _ object: RawJSON,
        _ leased: LeasedItem<Watch>,
        _ timeout: Duration
    ) async -> ChargeResult? {
        guard watch.state.charge == .doubtful, seen.isSteadySource,
            let limit = leased.limit(timeout)
        else { return nil }
        let found = await charger.find(watch, object: object, timeout: limit)
        guard case .made = found else { return nil }
        return found
    }
}
