package import Logging
import Metrics
import PollerIdentity
import PollerPayments
package import PollerQueue
package import PollerWatches

/// Captures or cancels a payment before its deadline, if the watch or its account requests it (`DeadlineActs`).
///
/// `PollContext.act(on:)` decides when.
package struct DeadlineFollowUp: FollowUp {
    private let settler: any Settler
    private let orders: OrderService?
    private let logger: Logger

    /// Creates a follow-up that acts through `settler`; without `orders` a hold is captured even if its order is paid.
    package init(_ settler: any Settler, orders: OrderService? = nil, logger: Logger) {
        self.settler = settler
        self.orders = orders
        self.logger = logger
    }

    /// Sets the actions that the watch or its account requests.
    package func prepare(_ watch: inout Watch) {
        watch.acts =
            watch.key.kind.isIntent
            ? watch.acts.filled(by: settler.defaults(for: watch.key.account)) : .unset
    }

    package func act(
        on outcome: PollOutcome,
        _ context: inout PollContext,
        _ leased: LeasedItem<Watch>,
        timeout: Duration
    ) async -> PollOutcome {
        guard case .answer(.observed(let seen)) = outcome, context.duplicateRefund == nil,
            let act = context.act(on: seen)
        else { return outcome }
        let key = context.watch.key
        let settled = await settle(context, by: act, leased, timeout)
        // The counter is created on each use, because these actions are rare.
        Counter(
            label: "poller_acts_total",
            dimensions: [("act", act.rawValue), ("result", settled.name)]
        ).increment()
        let metadata: Logger.Metadata = [
            "source": "\(key.source)", "account": "\(key.account)", "act": "\(act.rawValue)",
        ]
        switch settled {
        case .done: logger.info("a deadline was acted on", metadata: metadata)
        case .refused(let why):
            let more = metadata.merging(["error": "\(why)"]) { $1 }
            logger.error("a deadline could not be acted on", metadata: more)
        case .superseded, .postponed, .unknown: break
        }
        return .acted(seen, act, settled)
    }

    private func settle(
        _ context: PollContext,
        by act: DeadlineAct,
        _ leased: LeasedItem<Watch>,
        _ timeout: Duration
    ) async -> SettleResult {
        let watch = context.watch
        var right: Int?
        // An order is captured once, even if several attempts hold money.
        if act == .capture, let orders, let name = watch.order {
            do throws(StoreError) {
                switch try await orders.take(watch, at: context.polledAt) {
                case .granted(let number)?: right = number
                case .refused(let other)?:
                    let reason = "order \(name) is paid by \(other.source), or may still become so"
                    return .postponed(reason, retryAfter: PollDecider.refusedWait)
                case nil: break
                }
            } catch {
                return .postponed("order \(name) could not be read: \(error)", retryAfter: nil)
            }
        }
        var result = SettleResult.postponed(
            "the lease was about to end",
            retryAfter: nil,
            isCertain: true
        )
        if let limit = leased.limit(timeout) {
            result = await settler.settle(watch, by: act, timeout: limit)
        }
        // Another hold of the order may be captured. If the store does not answer, this one keeps the right.
        if let right, result.isWithoutEffect { try? await orders?.release(right, of: watch) }
        return result
    }
}
